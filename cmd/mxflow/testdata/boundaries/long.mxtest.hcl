# Cases that lie just on either side of what decides: a level of p, the chance of
# a verdict below which a test is given up, the screen, a limit of memory. What they
# should come to, here and number by number in boundaries.json, was worked out from
# docs/statistics.md by a program that shares nothing with mxflow (Python, the tail
# of t by the incomplete beta function) and is not kept.

case "gain: screen, short of it" {
  feature = feature.gain
  expect  = "inconclusive"
  launches = {
    "chat.tg" = { base = [30.263273], candidate = [25.090432] }
  }
  noise = { "chat.tg" = { sd = 0.05, df = 12 } }
}

case "loss: screen, beyond" {
  feature = feature.loss
  expect  = "fail"
  launches = {
    "chat.tg" = { base = [29.907814, 30.125257, 29.759263], candidate = [21.753942, 21.649304, 21.536575] }
  }
}

case "later: p of pass just below, 3 launches" {
  feature = feature.later
  expect  = "pass"
  launches = {
    "chat.ttft" = { base = [251.4457, 250.60548, 251.22708], candidate = [258.08294, 257.42735, 255.94111] }
  }
  noise = { "chat.ttft" = { sd = 0.004, df = 12 } }
}

case "sooner: p of pass just above, 3 launches" {
  feature = feature.sooner
  expect  = "inconclusive"
  launches = {
    "chat.ttft" = { base = [246.24841, 250.30365, 245.18482], candidate = [189.75142, 187.99877, 188.21399] }
  }
  noise = { "chat.ttft" = { sd = 0.004, df = 12 } }
}

case "tail: p of pass just below, 4 launches" {
  feature = feature.tail
  expect  = "pass"
  launches = {
    "chat.ttft.p95" = { base = [260.32591, 253.07772, 236.04394, 236.00476, 231.03583, 246.25135], candidate = [195.48886, 142.92838, 191.10792, 162.95519, 183.72482, 197.26213] }
  }
}

case "level: p of pass just above, 4 launches" {
  feature = feature.level
  expect  = "inconclusive"
  launches = {
    "chat.tg" = { base = [29.865401, 29.566395, 29.93546, 30.502672], candidate = [33.678536, 33.111317, 34.028732, 33.047189] }
  }
}

case "delta: p of pass just below, 6 launches" {
  feature = feature.delta
  expect  = "pass"
  launches = {
    "chat.e2e" = { base = [1096.6377, 1104.9, 1096.4215, 1102.3864, 1099.9937, 1112.6456], candidate = [1114.3729, 1111.681, 1111.4103, 1109.387, 1113.2818, 1111.119] }
  }
}

case "queue: p of pass just above, 6 launches" {
  feature = feature.queue
  expect  = "inconclusive"
  launches = {
    "chat.queue" = { base = [2.9510522, 2.9545503, 2.9763665, 2.9911351, 3.0221319, 3.0272796], candidate = [2.9400461, 2.9802854, 2.9419095, 2.8762544, 2.921333, 2.962242] }
  }
}

case "gain: p of pass just below, 8 launches" {
  feature = feature.gain
  expect  = "pass"
  launches = {
    "chat.tg" = { base = [29.942344, 29.325143, 30.65856, 30.783853, 30.210786, 30.519168, 28.752701, 29.944898], candidate = [34.62957, 34.58665, 33.798791, 33.793172, 34.241661, 34.007992, 32.959939, 34.929062] }
  }
  noise = { "chat.tg" = { sd = 0.001, df = 8 } }
}

case "loss: p of pass just above, 8 launches" {
  feature = feature.loss
  expect  = "inconclusive"
  launches = {
    "chat.tg" = { base = [29.333003, 30.576639, 29.952009, 30.343944, 29.648261, 30.086595, 30.359474, 28.908505], candidate = [30.727794, 29.597582, 29.702079, 31.043601, 29.897913, 28.879805, 30.561692, 29.624228] }
  }
}

case "later: p of pass just below, 12 launches" {
  feature = feature.later
  expect  = "pass"
  launches = {
    "chat.ttft" = { base = [243.2688, 254.16581, 256.54872, 232.40778, 256.18958, 263.14431, 245.44113, 233.09427, 268.16685, 241.32912, 226.92803, 248.1427], candidate = [239.36535, 247.1883, 246.05277, 238.22166, 255.59036, 248.04716, 246.95472, 248.6226, 247.3231, 246.31469, 251.42456, 248.76826] }
  }
  noise = { "chat.ttft" = { sd = 0.001, df = 12 } }
}

case "sooner: p of pass just above, 12 launches" {
  feature = feature.sooner
  expect  = "inconclusive"
  launches = {
    "chat.ttft" = { base = [243.09168, 245.40403, 254.52105, 247.06106, 253.61656, 245.47586, 249.47536, 253.24329, 241.27107, 254.61346, 251.32775, 252.08766], candidate = [195.89473, 196.02652, 195.9152, 195.73907, 196.11345, 195.4152, 196.03811, 196.21203, 195.67069, 196.04366, 195.94405, 195.83138] }
  }
  noise = { "chat.ttft" = { sd = 0.004, df = 7 } }
}

case "tail: p of fail just below, 3 launches" {
  feature = feature.tail
  expect  = "fail"
  launches = {
    "chat.ttft.p95" = { base = [252.30475, 245.77398, 239.70259, 248.07533, 245.14372], candidate = [291.2248, 276.45947, 293.72616, 275.96374, 283.62816] }
  }
  noise = { "chat.ttft.p95" = { sd = 0.05, df = 12 } }
}

case "level: p of fail just above, 3 launches" {
  feature = feature.level
  expect  = "fail"
  launches = {
    "chat.tg" = { base = [30.11489, 30.136184, 29.794333, 30.043729, 28.740451], candidate = [31.630128, 31.239156, 31.071883, 31.549456, 31.639001] }
  }
  noise = { "chat.tg" = { sd = 0.01, df = 8 } }
}

case "delta: p of fail just below, 4 launches" {
  feature = feature.delta
  expect  = "fail"
  launches = {
    "chat.e2e" = { base = [1138.5163, 1164.2651, 1098.0702, 1066.321], candidate = [8155.3915, 3645.7105, 3081.3702, 3426.5945] }
  }
}

case "queue: p of fail just above, 4 launches" {
  feature = feature.queue
  expect  = "inconclusive"
  launches = {
    "chat.queue" = { base = [2.8508063, 2.9765689, 3.0665755, 2.9715659], candidate = [3.1628012, 3.0486818, 3.0599024, 3.0476521] }
  }
}

case "gain: p of fail just below, 6 launches" {
  feature = feature.gain
  expect  = "fail"
  launches = {
    "chat.tg" = { base = [30.065659, 30.26208, 29.512212, 29.722309, 31.080487, 29.043021], candidate = [32.196479, 33.129849, 31.711096, 32.217522, 30.444046, 31.961029] }
  }
}

case "loss: p of fail just above, 6 launches" {
  feature = feature.loss
  expect  = "inconclusive"
  launches = {
    "chat.tg" = { base = [30.042181, 30.239251, 30.151396, 29.77947, 30.111066, 30.026423, 30.249373], candidate = [26.392797, 31.395084, 25.807752, 24.017003, 27.728881, 24.795503, 27.286818] }
  }
}

case "later: p of fail just below, 8 launches" {
  feature = feature.later
  expect  = "fail"
  launches = {
    "chat.ttft" = { base = [248.3524, 246.46051, 250.69698, 249.42722, 249.93648, 251.45053, 250.84185, 251.84493], candidate = [270.54271, 265.93297, 263.44586, 261.06802, 262.55563, 265.40153, 265.28517, 264.23421] }
  }
}

case "sooner: p of fail just above, 8 launches" {
  feature = feature.sooner
  expect  = "inconclusive"
  launches = {
    "chat.ttft" = { base = [252.11788, 249.46201, 247.60484, 249.12969, 251.37662, 249.63651, 250.37351, 250.59181], candidate = [194.62522, 207.3879, 202.52652, 206.40979, 207.65886, 204.83975, 199.11504, 208.87044] }
  }
  noise = { "chat.ttft" = { sd = 0.001, df = 7 } }
}

case "tail: p of fail just below, 12 launches" {
  feature = feature.tail
  expect  = "fail"
  launches = {
    "chat.ttft.p95" = { base = [256.91707, 228.73726, 261.11235, 253.47358, 254.53742, 241.38074, 259.60323, 257.50046, 232.57415, 245.02739, 249.4795, 244.13261], candidate = [259.27199, 272.21861, 277.23073, 259.35134, 257.05137, 288.0333, 278.99519, 273.48198, 266.41248, 273.11438, 268.29978, 259.33922] }
  }
  noise = { "chat.ttft.p95" = { sd = 0.01, df = 8 } }
}

case "level: p of fail just above, 12 launches" {
  feature = feature.level
  expect  = "inconclusive"
  launches = {
    "chat.tg" = { base = [30.45044, 30.842028, 29.318435, 30.226905, 30.437726, 30.09421, 29.962516, 30.320319, 30.199718, 30.185169, 29.054338, 30.257642], candidate = [32.400162, 31.714671, 31.649411, 32.027403, 31.979831, 31.184403, 31.495592, 31.688345, 32.065823, 31.93355, 32.012831, 31.54795] }
  }
  noise = { "chat.tg" = { sd = 0.01, df = 8 } }
}

case "later: chance just below, 6 launches" {
  feature = feature.later
  expect  = "inconclusive"
  launches = {
    "chat.ttft" = { base = [253.74123, 238.40014, 250.05038, 250.9872, 251.7387, 243.81321], candidate = [166.75067, 430.25488, 201.08976, 295.81406, 172.97149, 547.50036] }
  }
  noise = { "chat.ttft" = { sd = 0.01, df = 8 } }
}

case "sooner: chance just above, 6 launches" {
  feature = feature.sooner
  expect  = "inconclusive"
  launches = {
    "chat.ttft" = { base = [251.95148, 270.26725, 243.53947, 236.59165, 241.80109, 244.97154], candidate = [199.00882, 199.34818, 196.37025, 200.19866, 198.64107, 201.5821] }
  }
}

case "tail: chance just below, 8 launches" {
  feature = feature.tail
  expect  = "inconclusive"
  launches = {
    "chat.ttft.p95" = { base = [237.60054, 247.08166, 265.29597, 251.05939, 252.49427, 247.4357, 239.90913, 266.6183], candidate = [254.20506, 254.94731, 254.82002, 266.23577, 263.94281, 249.17876, 256.03945, 257.53794] }
  }
}

case "level: chance just above, 8 launches" {
  feature = feature.level
  expect  = "inconclusive"
  launches = {
    "chat.tg" = { base = [26.910533, 28.902503, 29.312258, 32.612587, 29.790602, 29.391293, 29.76655, 28.356006, 31.82682], candidate = [31.772584, 31.789984, 31.531956, 32.286284, 32.343438, 31.600863, 32.251553, 31.762483, 31.642264] }
  }
}

case "set: first" {
  feature = feature.set
  expect  = "fail"
  launches = {
    "chat.tg"   = { base = [30.014584, 30.060401, 30.069997, 30.353341, 30.224717], candidate = [30.015432, 29.979761, 29.994684, 30.091803, 30.23931] }
    "chat.ttft" = { base = [250.57089, 250.42752, 249.75635, 248.81531, 249.83281], candidate = [249.87337, 250.11693, 249.98508, 250.07201, 249.96913] }
    "chat.e2e"  = { base = [1107.9996, 1102.1461, 1096.5737, 1098.4937, 1111.912], candidate = [1128.2883, 1129.2764, 1129.2672, 1130.8055, 1130.8242] }
  }
  expect_rules = { "gain" = "fail", "later" = "pass", "delta" = "inconclusive" }
}

case "set: second" {
  feature = feature.set
  expect  = "fail"
  launches = {
    "chat.tg"   = { base = [29.987684, 29.298304, 30.62912, 30.281127, 29.730406, 29.539315, 29.528534, 30.101435, 29.688516, 28.5125, 30.48087, 30.216062], candidate = [42.676287, 80.204952, 23.780333, 53.986913, 52.443989, 45.152246, 40.356552, 25.44545, 48.163598, 45.464507, 47.392722, 62.753679] }
    "chat.ttft" = { base = [249.9555, 251.04804, 249.56405, 247.78862, 248.32761, 248.49522, 250.73023, 250.85132, 249.35045, 249.76898, 252.18488, 249.33237], candidate = [265.24221, 265.16012, 265.23124, 265.30558, 265.23604, 265.23863, 265.26173, 265.23975, 265.33051, 265.22786, 265.26507, 265.27646] }
    "chat.e2e"  = { base = [1118.6581, 1122.1517, 1113.6962, 1115.9006, 1103.3391, 1085.5751, 1111.5371, 1095.152, 1101.0611, 1095.6493, 1084.7048, 1099.4149], candidate = [1176.2882, 1175.9455, 1174.9091, 1174.1999, 1175.0282, 1174.4586, 1173.2236, 1176.26, 1175.4952, 1174.7305, 1177.1513, 1175.2136] }
  }
  expect_rules = { "gain" = "pass", "later" = "fail", "delta" = "fail" }
}

case "any: first" {
  feature = feature.any
  expect  = "pass"
  launches = {
    "chat.tg"   = { base = [30.033907, 29.193337, 29.812357, 29.663918, 30.461138, 30.868629, 30.073124, 29.968361, 29.462716, 29.830963, 29.79293, 29.326426], candidate = [33.719127, 33.772354, 33.738865, 33.800754, 33.816338, 33.781903, 33.784848, 33.846965, 33.772782, 33.758728, 33.831363, 33.773888] }
    "chat.ttft" = { base = [255.952, 250.63389, 249.977, 255.5269, 250.84659, 253.08498, 254.88384, 252.67715, 246.06876, 256.19711, 245.88672, 244.42178], candidate = [388.53892, 397.05122, 388.27542, 383.19567, 372.09489, 385.64677, 387.41407, 382.42255, 386.50882, 386.9023, 391.31922, 383.16027] }
    "chat.e2e"  = { base = [1101.8004, 1099.1484, 1107.8609, 1103.3579, 1102.3852, 1100.003, 1106.7084, 1097.7248, 1107.3658, 1102.7603, 1084.4053, 1098.5134], candidate = [1122.9524, 1123.0822, 1120.156, 1125.8388, 1121.6503, 1125.0373, 1122.982, 1121.1821, 1122.6219, 1125.6985, 1117.9031, 1121.9621] }
  }
  expect_rules = { "one_of_three" = "pass", "level" = "pass" }
}

case "any: second" {
  feature = feature.any
  expect  = "fail"
  launches = {
    "chat.tg"   = { base = [30.01695, 30.03278, 30.045475, 29.887955, 30.039935, 29.907566, 29.852059, 30.129176, 30.007497, 30.094809, 30.048584, 30.166234], candidate = [24.007821, 23.89199, 23.995773, 24.069442, 24.024223, 23.928754, 23.89967, 24.013566, 23.935099, 24.027927, 23.923277, 23.984547] }
    "chat.ttft" = { base = [249.74434, 251.34504, 248.40324, 247.89669, 250.92616, 249.52537, 248.73963, 250.41623, 248.81858, 250.04236, 251.04407, 250.93248], candidate = [269.34052, 316.30252, 272.34612, 294.72538, 225.16445, 278.32257, 248.75335, 265.67735, 263.72094, 262.1684, 224.26822, 279.51753] }
    "chat.e2e"  = { base = [1089.2368, 1108.8383, 1122.8315, 1109.0392, 1101.463, 1120.6991, 1101.2668, 1125.3482, 1109.3687, 1105.366, 1102.0918, 1092.8246], candidate = [1169.7022, 1170.5976, 1132.8189, 1166.3828, 1207.793, 1208.9861, 1187.6577, 1179.7019, 1190.8778, 1158.4898, 1172.559, 1173.6567] }
  }
  expect_rules = { "one_of_three" = "fail", "level" = "fail" }
}

case "nested: first" {
  feature = feature.nested
  expect  = "fail"
  launches = {
    "chat.tg"    = { base = [29.991491, 29.964028, 30.20917, 30.102467, 30.059157, 30.184391, 30.377217, 29.900268, 30.161057, 30.058193, 29.98736, 29.945382], candidate = [33.247688, 33.176338, 32.96452, 33.092904, 32.916768, 33.296255, 33.220116, 32.932758, 33.04496, 32.923046, 33.094588, 32.889656] }
    "chat.ttft"  = { base = [250.53264, 251.70275, 250.94366, 250.33789, 249.65725, 251.73759, 250.16408, 251.52279, 250.38697, 250.8137, 251.16223, 248.62851], candidate = [186.9499, 203.03513, 229.35746, 225.33565, 209.96222, 254.39024, 205.59202, 227.9737, 241.94849, 217.11252, 204.7433, 262.44936] }
    "chat.e2e"   = { base = [1106.071, 1101.2685, 1096.4159, 1109.5857, 1091.1512, 1110.1607, 1104.3027, 1096.52, 1099.2082, 1095.3423, 1098.4301, 1113.8795], candidate = [1138.4794, 1128.8845, 1134.2519, 1129.1982, 1129.5722, 1120.0043, 1133.4151, 1129.4402, 1127.9274, 1128.9141, 1129.7039, 1129.9835] }
    "chat.queue" = { base = [3.0090173, 2.9739623, 3.0251702, 2.983392, 3.0038124, 2.9562089, 2.9968711, 2.9921079, 2.9996583, 2.9902452, 3.0000905, 3.0023283], candidate = [2.2403362, 2.2021191, 2.1946013, 2.1690029, 2.1734117, 2.2170475, 2.2089993, 2.1889673, 2.1404311, 2.2258977, 2.1786922, 2.1725607] }
    "chat.pp"    = { base = [3996.8514, 3973.8849, 3992.7546, 4015.6385, 3986.762, 3979.7331, 3962.2801, 4003.1228, 4001.8806, 4011.0047, 4004.139, 4022.974], candidate = [4497.9502, 4413.9752, 3985.7409, 4726.8472, 4501.4214, 4698.7926, 4163.0045, 4917.8829, 4207.3123, 4444.2898, 4042.7032, 3903.0357] }
  }
}

case "nested: second" {
  feature = feature.nested
  expect  = "fail"
  launches = {
    "chat.tg"    = { base = [30.015379, 30.115926, 29.980302, 30.11882], candidate = [33.300273, 32.434033, 35.010121, 31.330609] }
    "chat.ttft"  = { base = [244.22499, 246.59226, 250.56678, 250.20897], candidate = [341.79077, 344.01794, 347.24237, 347.79715] }
    "chat.e2e"   = { base = [1085.8685, 1092.1534, 1053.5924, 1128.9072], candidate = [1103.9471, 1103.3664, 1101.7261, 1103.8169] }
    "chat.queue" = { base = [3.0118018, 3.0106418, 2.9890794, 3.0092673], candidate = [3.2851291, 3.3556347, 3.407343, 3.4942715] }
    "chat.pp"    = { base = [4052.79, 4165.0874, 4114.2726, 3941.2097], candidate = [1667.7778, 1685.5128, 1674.7112, 1705.7341] }
  }
}

case "mixed: first" {
  feature = feature.mixed
  expect  = "inconclusive"
  launches = {
    "chat.tg"          = { base = [29.396708, 30.270285, 29.201246, 30.999386, 29.734695], candidate = [42.013273, 43.670163, 41.102345, 42.723838, 42.588776] }
    "engine.memory_gb" = { base = [20.25, 20, 20.25, 20, 20], candidate = [21, 20.1, 21, 20.4, 20.1] }
    "chat.ttft"        = { base = [249.10031, 251.08805, 253.08404, 250.19185, 249.64537], candidate = [265.69796, 252.05921, 250.75525, 264.38624, 255.53629] }
    "engine.crashes"   = { candidate = [0, 0, 0, 0, 0] }
    "gpu.memory_gb"    = { candidate = [80, 80, 80, 80, 79.99] }
  }
  expect_rules = { "it" = "pass", "memory" = "inconclusive", "share" = "pass" }
}

case "mixed: second" {
  feature = feature.mixed
  expect  = "fail"
  launches = {
    "chat.tg"          = { base = [30.376936, 29.807247, 29.868279, 30.090192, 29.38518, 30.81375, 31.166696, 30.020476, 30.005247, 29.104673, 29.789661, 30.41303], candidate = [30.124598, 29.336004, 29.908762, 30.351501, 29.912099, 30.374316, 30.214955, 30.823475, 30.859228, 31.56061, 30.797191, 29.49067] }
    "engine.memory_gb" = { base = [20, 20, 20.25, 20.25, 20.25, 20.25, 20, 20.25, 20, 20.25, 20.25, 20.25], candidate = [20.1, 21, 21, 20.4, 21, 21.5, 20.4, 20.1, 21, 20.4, 21, 21.5] }
    "chat.ttft"        = { base = [250.46071, 249.29492, 250.82777, 249.12582, 250.87366, 251.47472, 251.60772, 249.43305, 253.7948, 250.49774, 249.81251, 248.13524], candidate = [266.56373, 273.25083, 271.19033, 271.01335, 270.8146, 270.89792, 270.90259, 269.09916, 272.38539, 270.38176, 270.89427, 270.6252] }
    "engine.crashes"   = { candidate = [0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0] }
    "gpu.memory_gb"    = { candidate = [79.99, 79.5, 80, 79.5, 79.5, 79.99, 79.5, 79.5, 80, 79.99, 80, 79.99] }
  }
  expect_rules = { "it" = "fail", "memory" = "inconclusive", "share" = "inconclusive" }
}
