# Cases that lie just on either side of what decides: a level of p, the chance of
# a verdict below which a test is given up, the screen, a limit of memory. What they
# should come to, here and number by number in boundaries.json, was worked out from
# docs/statistics.md by a program that shares nothing with mxflow (Python, the tail
# of t by the incomplete beta function) and is not kept.

case "gain: p of pass just below, 3 launches" {
  feature = feature.gain
  expect  = "pass"
  launches = {
    "chat.tg" = { base = [30.060843, 29.760033, 31.396724], candidate = [41.896983, 41.36354, 41.603315] }
  }
  noise = { "chat.tg" = { sd = 0.004, df = 30 } }
}

case "loss: p of pass just below, 3 launches" {
  feature = feature.loss
  expect  = "pass"
  launches = {
    "chat.tg" = { base = [28.673521, 30.237572, 31.342549, 31.202238], candidate = [407.61278, 523.01073, 804.43653, 567.87215] }
  }
  noise = { "chat.tg" = { sd = 0.001, df = 12 } }
}

case "later: p of pass just above, 3 launches" {
  feature = feature.later
  expect  = "inconclusive"
  launches = {
    "chat.ttft" = { base = [249.44575, 248.31519, 249.86868], candidate = [250.61029, 250.63033, 250.92929] }
  }
  noise = { "chat.ttft" = { sd = 0.004, df = 12 } }
}

case "sooner: p of pass just above, 3 launches" {
  feature = feature.sooner
  expect  = "pass"
  launches = {
    "chat.ttft" = { base = [251.42167, 248.12007, 243.66881, 244.27381, 261.89402], candidate = [181.28902, 181.65924, 174.76716, 174.75804, 197.58893] }
  }
  noise = { "chat.ttft" = { sd = 0.01, df = 8 } }
}

case "tail: p of pass just below, 4 launches" {
  feature = feature.tail
  expect  = "pass"
  launches = {
    "chat.ttft.p95" = { base = [250.42519, 248.91301, 249.30255, 248.57573, 249.985], candidate = [178.26466, 207.28992, 191.37933, 171.01137, 168.6776] }
  }
}

case "level: p of pass just below, 4 launches" {
  feature = feature.level
  expect  = "pass"
  launches = {
    "chat.tg" = { base = [29.771533, 30.312128, 30.432352, 29.671273], candidate = [44.732368, 40.279695, 41.771851, 38.532596] }
  }
  noise = { "chat.tg" = { sd = 0.01, df = 8 } }
}

case "delta: p of pass just above, 4 launches" {
  feature = feature.delta
  expect  = "pass"
  launches = {
    "chat.e2e" = { base = [1106.7781, 1098.9791, 1097.6762, 1102.8626, 1105.2376, 1102.2635], candidate = [961.30168, 1035.2818, 964.21457, 967.34843, 984.08683, 950.81902] }
  }
}

case "queue: p of pass just above, 4 launches" {
  feature = feature.queue
  expect  = "inconclusive"
  launches = {
    "chat.queue" = { base = [3.0064223, 3.0129273, 2.9917166, 3.0068496, 3.0197374], candidate = [2.9965051, 2.9967723, 2.997845, 2.9977872, 2.9970776] }
  }
}

case "gain: p of pass just below, 6 launches" {
  feature = feature.gain
  expect  = "pass"
  launches = {
    "chat.tg" = { base = [30.016469, 29.824676, 29.703997, 29.98876, 30.022263, 29.896126], candidate = [37.204437, 37.223636, 37.095654, 37.193867, 37.205054, 37.051413] }
  }
  noise = { "chat.tg" = { sd = 0.05, df = 8 } }
}

case "loss: p of pass just below, 6 launches" {
  feature = feature.loss
  expect  = "pass"
  launches = {
    "chat.tg" = { base = [30.066661, 30.223033, 29.637335, 31.200281, 28.224169, 30.474034, 30.007366], candidate = [31.152866, 31.129071, 31.174185, 31.133468, 31.121923, 31.226986, 31.177859] }
  }
  noise = { "chat.tg" = { sd = 0.004, df = 30 } }
}

case "later: p of pass just above, 6 launches" {
  feature = feature.later
  expect  = "inconclusive"
  launches = {
    "chat.ttft" = { base = [251.01716, 251.34433, 249.81009, 251.50009, 248.8178, 251.34723], candidate = [260.79933, 261.13153, 260.65893, 260.75334, 260.75247, 261.13319] }
  }
  noise = { "chat.ttft" = { sd = 0.001, df = 30 } }
}

case "sooner: p of pass just above, 6 launches" {
  feature = feature.sooner
  expect  = "inconclusive"
  launches = {
    "chat.ttft" = { base = [241.0406, 254.94837, 251.19578, 250.44392, 254.29164, 244.35333, 257.35268], candidate = [193.71124, 168.64409, 179.69905, 179.60379, 189.70017, 181.88575, 193.18775] }
  }
}

case "tail: p of pass just below, 8 launches" {
  feature = feature.tail
  expect  = "pass"
  launches = {
    "chat.ttft.p95" = { base = [258.90908, 258.5092, 246.2381, 252.80447, 250.63705, 253.09586, 248.49, 243.75473], candidate = [114.0806, 100.18427, 154.22051, 139.89582, 197.48847, 53.921186, 150.51139, 246.01881] }
  }
}

case "level: p of pass just below, 8 launches" {
  feature = feature.level
  expect  = "pass"
  launches = {
    "chat.tg" = { base = [29.841746, 29.814797, 29.999143, 30.163098, 30.273769, 30.152415, 30.014583, 30.010478], candidate = [33.114869, 32.756647, 32.776248, 31.910178, 32.362689, 33.047027, 32.565933, 32.283123] }
  }
  noise = { "chat.tg" = { sd = 0.004, df = 7 } }
}

case "delta: p of pass just above, 8 launches" {
  feature = feature.delta
  expect  = "inconclusive"
  launches = {
    "chat.e2e" = { base = [1118.9772, 1075.8912, 1102.2294, 1103.9124, 1086.4126, 1076.3307, 1128.8642, 1115.1666], candidate = [1104.0891, 1100.1291, 1061.5109, 1074.0082, 1087.1112, 1075.1664, 1119.1756, 1079.6843] }
  }
}

case "queue: p of pass just above, 8 launches" {
  feature = feature.queue
  expect  = "inconclusive"
  launches = {
    "chat.queue" = { base = [3.2059331, 2.8287845, 2.8535353, 2.9832117, 3.0091341, 3.2308517, 2.9195819, 3.0278985], candidate = [2.8813583, 2.7819779, 2.7991933, 2.8468806, 2.7430933, 3.0006038, 2.9827846, 2.8719488] }
  }
}

case "gain: p of fail just below, 3 launches" {
  feature = feature.gain
  expect  = "fail"
  launches = {
    "chat.tg" = { base = [29.01293, 30.385924, 29.275954], candidate = [23.290922, 26.354615, 21.275876] }
  }
  noise = { "chat.tg" = { sd = 0.01, df = 12 } }
}

case "loss: p of fail just below, 3 launches" {
  feature = feature.loss
  expect  = "fail"
  launches = {
    "chat.tg" = { base = [30.050097, 30.001684, 30.079347], candidate = [26.102065, 27.038176, 27.306955] }
  }
  noise = { "chat.tg" = { sd = 0.01, df = 12 } }
}

case "later: p of fail just above, 3 launches" {
  feature = feature.later
  expect  = "fail"
  launches = {
    "chat.ttft" = { base = [247.57671, 251.28034, 247.90646, 251.91685], candidate = [461.18128, 580.81085, 402.79821, 699.77228] }
  }
  noise = { "chat.ttft" = { sd = 0.001, df = 30 } }
}

case "sooner: p of fail just above, 3 launches" {
  feature = feature.sooner
  expect  = "fail"
  launches = {
    "chat.ttft" = { base = [252.07412, 251.40133, 249.25967, 249.49095, 248.94257], candidate = [251.26932, 251.25258, 251.51311, 251.17221, 251.21351] }
  }
  noise = { "chat.ttft" = { sd = 0.05, df = 8 } }
}

case "tail: p of fail just below, 4 launches" {
  feature = feature.tail
  expect  = "fail"
  launches = {
    "chat.ttft.p95" = { base = [248.28397, 250.70296, 252.91915, 249.38444], candidate = [266.27871, 266.76282, 265.12087, 268.01376] }
  }
}

case "level: p of fail just below, 4 launches" {
  feature = feature.level
  expect  = "fail"
  launches = {
    "chat.tg" = { base = [30.447528, 30.510947, 30.293972, 30.539021], candidate = [31.951157, 31.90223, 31.955632, 31.869757] }
  }
  noise = { "chat.tg" = { sd = 0.001, df = 12 } }
}

case "delta: p of fail just above, 4 launches" {
  feature = feature.delta
  expect  = "inconclusive"
  launches = {
    "chat.e2e" = { base = [1106.5982, 1103.6908, 1105.4947, 1103.7887], candidate = [1127.7122, 1127.5846, 1127.7209, 1127.4169] }
  }
}

case "queue: p of fail just above, 4 launches" {
  feature = feature.queue
  expect  = "inconclusive"
  launches = {
    "chat.queue" = { base = [3.0018256, 3.0190419, 2.9737762, 2.99512], candidate = [3.0319799, 3.1240673, 3.1113566, 3.0643051] }
  }
}

case "gain: p of fail just below, 6 launches" {
  feature = feature.gain
  expect  = "fail"
  launches = {
    "chat.tg" = { base = [29.894259, 29.069874, 30.27379, 29.15044, 29.261084, 31.850773, 30.5825, 29.010258], candidate = [31.178947, 31.799631, 32.4229, 29.722753, 32.192962, 30.521027, 32.001645, 31.696406] }
  }
}

case "loss: p of fail just below, 6 launches" {
  feature = feature.loss
  expect  = "fail"
  launches = {
    "chat.tg" = { base = [29.578659, 30.066817, 29.697525, 30.250641, 29.871514, 30.256791], candidate = [26.980725, 27.181728, 26.812852, 25.708886, 26.119603, 27.921348] }
  }
  noise = { "chat.tg" = { sd = 0.05, df = 8 } }
}

case "later: p of fail just above, 6 launches" {
  feature = feature.later
  expect  = "fail"
  launches = {
    "chat.ttft" = { base = [258.30573, 255.848, 248.58757, 262.59407, 256.44637, 247.75924, 246.09824, 247.10195], candidate = [274.18988, 276.23121, 275.89058, 276.01905, 274.66, 273.41336, 275.77864, 278.5127] }
  }
  noise = { "chat.ttft" = { sd = 0.004, df = 12 } }
}

case "sooner: p of fail just above, 6 launches" {
  feature = feature.sooner
  expect  = "inconclusive"
  launches = {
    "chat.ttft" = { base = [249.86557, 253.05528, 247.27079, 257.40496, 254.03573, 254.87126], candidate = [205.87224, 204.83947, 205.36443, 206.93871, 205.01557, 206.49268] }
  }
  noise = { "chat.ttft" = { sd = 0.001, df = 8 } }
}

case "tail: p of fail just below, 8 launches" {
  feature = feature.tail
  expect  = "fail"
  launches = {
    "chat.ttft.p95" = { base = [249.23201, 250.13495, 247.77879, 249.17079, 249.98731, 249.4417, 250.99698, 248.82391], candidate = [263.11976, 260.87404, 264.67368, 264.38037, 262.31487, 263.45418, 265.71471, 263.30136] }
  }
}

case "level: p of fail just below, 8 launches" {
  feature = feature.level
  expect  = "fail"
  launches = {
    "chat.tg" = { base = [30.096004, 30.944753, 29.547442, 30.195116, 29.90701, 30.665055, 28.881129, 30.534691], candidate = [30.876203, 30.600629, 30.06857, 30.731106, 30.489287, 30.272324, 29.942841, 31.031268] }
  }
  noise = { "chat.tg" = { sd = 0.05, df = 30 } }
}

case "delta: p of fail just above, 8 launches" {
  feature = feature.delta
  expect  = "inconclusive"
  launches = {
    "chat.e2e" = { base = [1093.8163, 1135.2541, 1054.1815, 1081.2499, 1095.4881, 1083.0064, 1081.5745, 1086.4698], candidate = [1123.1666, 1170.3559, 1119.6215, 1168.1469, 1104.1095, 1155.9554, 1141.6136, 1118.5173] }
  }
}

case "queue: p of fail just above, 8 launches" {
  feature = feature.queue
  expect  = "inconclusive"
  launches = {
    "chat.queue" = { base = [3.027728, 2.9922553, 3.0277701, 2.9886193, 2.9937718, 3.0099174, 3.0025864, 3.0025469], candidate = [3.0435605, 2.9923786, 3.0421529, 2.9970054, 3.0279219, 2.9991842, 3.0229352, 3.0413987] }
  }
}

case "gain: chance just below, 3 launches" {
  feature = feature.gain
  expect  = "inconclusive"
  launches = {
    "chat.tg" = { base = [29.813357, 30.354073, 29.931898], candidate = [32.208929, 33.947541, 34.928733] }
  }
  noise = { "chat.tg" = { sd = 0.001, df = 8 } }
}

case "loss: chance just below, 3 launches" {
  feature = feature.loss
  expect  = "inconclusive"
  launches = {
    "chat.tg" = { base = [30.055183, 30.137225, 29.788906], candidate = [28.22435, 29.657517, 28.846327] }
  }
  noise = { "chat.tg" = { sd = 0.05, df = 8 } }
}

case "later: chance just above, 3 launches" {
  feature = feature.later
  expect  = "inconclusive"
  launches = {
    "chat.ttft" = { base = [251.5305, 251.27696, 261.82322, 251.8301, 254.4288], candidate = [246.18354, 261.78017, 274.21293, 230.65313, 287.79647] }
  }
  noise = { "chat.ttft" = { sd = 0.01, df = 8 } }
}

case "sooner: chance just above, 3 launches" {
  feature = feature.sooner
  expect  = "inconclusive"
  launches = {
    "chat.ttft" = { base = [252.57957, 248.83388, 248.66179], candidate = [197.17845, 202.96613, 192.36594] }
  }
  noise = { "chat.ttft" = { sd = 0.004, df = 8 } }
}

case "tail: chance just below, 4 launches" {
  feature = feature.tail
  expect  = "inconclusive"
  launches = {
    "chat.ttft.p95" = { base = [245.43139, 241.59738, 257.77271, 247.11959], candidate = [252.42933, 261.14769, 241.29228, 257.91665] }
  }
  noise = { "chat.ttft.p95" = { sd = 0.001, df = 12 } }
}

case "level: chance just below, 4 launches" {
  feature = feature.level
  expect  = "inconclusive"
  launches = {
    "chat.tg" = { base = [30.119715, 29.977725, 30.101474, 30.309639], candidate = [32.254888, 32.128715, 31.936131, 32.168315] }
  }
}

case "delta: chance just above, 4 launches" {
  feature = feature.delta
  expect  = "inconclusive"
  launches = {
    "chat.e2e" = { base = [1062.3563, 1109.231, 1110.4047, 1071.9811, 1135.8562, 1116.8296], candidate = [1079.4718, 1105.9167, 1096.3394, 1081.3946, 1094.8061, 1069.1469] }
  }
}

case "queue: chance just above, 4 launches" {
  feature = feature.queue
  expect  = "inconclusive"
  launches = {
    "chat.queue" = { base = [2.9987915, 2.9861494, 3.0290471, 3.003389], candidate = [2.966416, 2.9719402, 2.9802033, 3.0103799] }
  }
}

case "gain: chance just below, 6 launches" {
  feature = feature.gain
  expect  = "inconclusive"
  launches = {
    "chat.tg" = { base = [31.267708, 30.319049, 29.60321, 29.003268, 28.488892, 29.381587], candidate = [20.963856, 33.203679, 17.393229, 18.537109, 16.201049, 63.884541] }
  }
  noise = { "chat.tg" = { sd = 0.01, df = 8 } }
}

case "loss: chance just below, 6 launches" {
  feature = feature.loss
  expect  = "inconclusive"
  launches = {
    "chat.tg" = { base = [31.986101, 29.62007, 30.679505, 30.294857, 30.827394, 29.642811], candidate = [32.933588, 30.390991, 29.724381, 30.626388, 31.109555, 30.160464] }
  }
}

case "later: chance just above, 6 launches" {
  feature = feature.later
  expect  = "inconclusive"
  launches = {
    "chat.ttft" = { base = [256.73586, 253.02029, 247.40353, 246.62561, 254.49358, 247.43461], candidate = [272.05068, 269.32568, 279.46078, 267.52935, 274.15825, 277.47153] }
  }
  noise = { "chat.ttft" = { sd = 0.05, df = 30 } }
}

case "sooner: chance just above, 6 launches" {
  feature = feature.sooner
  expect  = "inconclusive"
  launches = {
    "chat.ttft" = { base = [277.65786, 241.11893, 256.28329, 251.54955, 249.17056, 259.89244], candidate = [203.37257, 186.43976, 184.13015, 203.40353, 184.27966, 196.12875] }
  }
  noise = { "chat.ttft" = { sd = 0.01, df = 7 } }
}

case "set: first" {
  feature = feature.set
  expect  = "fail"
  launches = {
    "chat.tg"   = { base = [30.64513, 27.955744, 29.813181, 30.371234, 31.947372], candidate = [1.7574146, 1.7559862, 1.6736072, 1.8511038, 1.825805] }
    "chat.ttft" = { base = [249.7476, 250.18352, 250.84545, 250.77842, 249.31945], candidate = [257.52318, 257.63821, 256.48769, 253.6811, 254.23565] }
    "chat.e2e"  = { base = [1105.5801, 1094.5072, 1087.4326, 1109.8608, 1103.0124], candidate = [1388.2515, 1264.0484, 1485.0178, 1389.9023, 1494.5026] }
  }
  expect_rules = { "gain" = "fail", "later" = "inconclusive", "delta" = "fail" }
}

case "set: second" {
  feature = feature.set
  expect  = "inconclusive"
  launches = {
    "chat.tg"   = { base = [29.881093, 29.988695, 29.893971, 30.165052], candidate = [32.5738, 32.577376, 32.610285, 32.552237] }
    "chat.ttft" = { base = [245.48144, 250.79516, 247.54674, 247.50279], candidate = [260.68511, 261.98529, 261.79138, 260.907] }
    "chat.e2e"  = { base = [1101.182, 1108.2177, 1093.0442, 1092.3745], candidate = [1101.1972, 1089.937, 1098.8552, 1096.5038] }
  }
  expect_rules = { "gain" = "inconclusive", "later" = "inconclusive", "delta" = "inconclusive" }
}

case "set: third" {
  feature = feature.set
  expect  = "pass"
  launches = {
    "chat.tg"   = { base = [30.18685, 30.049674, 30.021266, 30.032772, 29.793758, 29.849227, 30.056007, 30.003294], candidate = [33.125326, 33.60726, 33.181547, 33.345108, 33.404674, 33.52625, 33.350828, 33.19689] }
    "chat.ttft" = { base = [254.58583, 250.87668, 246.39934, 254.79743, 252.1057, 245.86074, 254.4947, 250.60091], candidate = [125.25298, 129.5803, 127.47169, 130.05842, 126.97571, 125.49266, 125.52211, 125.55283] }
    "chat.e2e"  = { base = [1085.9192, 1054.2916, 1074.9485, 1099.5791, 1089.4112, 1113.5342, 1082.7935, 1107.2216], candidate = [1028.7925, 1062.2582, 1030.3229, 1045.5038, 1047.7665, 1045.7111, 1051.9734, 1053.1734] }
  }
  expect_rules = { "gain" = "pass", "later" = "pass", "delta" = "pass" }
}

case "set: fourth" {
  feature = feature.set
  expect  = "fail"
  launches = {
    "chat.tg"   = { base = [29.87249, 29.092003, 31.442569, 30.487889, 30.758764, 30.171838, 28.992396, 30.14075], candidate = [34.866089, 35.022633, 35.294202, 34.74718, 35.317363, 35.126359, 35.576436, 35.738568] }
    "chat.ttft" = { base = [249.94485, 250.64691, 251.51112, 251.18724, 250.49431, 247.0637, 249.0898, 249.79553], candidate = [270.87847, 266.49553, 271.18571, 270.31372, 273.39001, 267.7508, 268.94899, 269.6014] }
    "chat.e2e"  = { base = [1125.7403, 1099.1109, 1103.7471, 1114.9265, 1081.9313, 1083.7552, 1093.3857, 1064.0078], candidate = [1455.6582, 1559.2201, 1466.222, 1458.4271, 1469.2906, 1459.0543, 1439.4844, 1490.7382] }
  }
  expect_rules = { "gain" = "pass", "later" = "fail", "delta" = "fail" }
}

case "set: fifth" {
  feature = feature.set
  expect  = "fail"
  launches = {
    "chat.tg"   = { base = [29.930258, 30.01822, 30.273168, 29.968055, 30.217664, 29.847545, 30.127603, 29.912108], candidate = [34.264248, 34.223047, 34.298141, 34.280839, 34.245957, 34.286505, 34.251375, 34.275198] }
    "chat.ttft" = { base = [248.31714, 247.1065, 256.58892, 245.81324, 256.94034, 244.68795, 254.84608, 242.65825], candidate = [305.45428, 382.78742, 352.78102, 386.83599, 304.45615, 335.71383, 320.68391, 340.54203] }
    "chat.e2e"  = { base = [1093.8826, 1095.817, 1084.351, 1122.8655, 1133.9594, 1072.4652, 1062.6056, 1093.8379], candidate = [1042.871, 1073.3437, 1031.4354, 1040.6796, 1044.6322, 1068.3173, 1064.1559, 1067.2839] }
  }
  expect_rules = { "gain" = "pass", "later" = "fail", "delta" = "pass" }
}

case "any: first" {
  feature = feature.any
  expect  = "inconclusive"
  launches = {
    "chat.tg"   = { base = [30.043551, 29.933631, 29.884084, 29.995343, 29.897181, 29.804668], candidate = [37.711077, 42.799039, 38.782239, 45.172424, 28.347679, 45.216186] }
    "chat.ttft" = { base = [239.66173, 254.72922, 254.50846, 254.73047, 247.07403, 249.48138], candidate = [218.40038, 223.4451, 219.65025, 222.73281, 224.80315, 221.66485] }
    "chat.e2e"  = { base = [1126.8503, 1091.3815, 1083.1676, 1109.4865, 1123.467, 1079.2935], candidate = [1320.2845, 1264.736, 1177.3887, 1270.127, 1322.2925, 1175.7312] }
  }
  expect_rules = { "one_of_three" = "inconclusive", "level" = "inconclusive" }
}

case "any: second" {
  feature = feature.any
  expect  = "inconclusive"
  launches = {
    "chat.tg"   = { base = [30.130536, 30.096162, 30.157746, 30.076061, 30.081222, 30.145173, 29.985813, 30.090864], candidate = [32.006295, 32.013917, 32.010916, 32.001708, 32.010894, 32.009021, 32.016864, 32.031645] }
    "chat.ttft" = { base = [248.40542, 251.24803, 248.79246, 252.1418, 251.69709, 250.29503, 248.64524, 250.6657], candidate = [198.64763, 198.68568, 199.2742, 198.90505, 198.66444, 198.92411, 198.75676, 199.06052] }
    "chat.e2e"  = { base = [1106.8753, 1096.1305, 1103.2731, 1106.0815, 1103.6663, 1116.2993, 1097.6792, 1099.3224], candidate = [1111.945, 1111.9668, 1112.4056, 1112.1256, 1112.0243, 1111.964, 1111.7893, 1111.9536] }
  }
  expect_rules = { "one_of_three" = "inconclusive", "level" = "inconclusive" }
}

case "any: third" {
  feature = feature.any
  expect  = "inconclusive"
  launches = {
    "chat.tg"   = { base = [29.862701, 29.8123, 30.822391, 30.047933, 29.932434, 30.483216, 30.324339, 30.082119], candidate = [31.718729, 32.304739, 31.821922, 31.903375, 31.5088, 31.409619, 31.263706, 31.298498] }
    "chat.ttft" = { base = [249.45328, 250.22788, 251.89341, 247.54256, 247.99774, 249.47517, 249.33852, 249.87795], candidate = [203.91793, 203.18342, 201.32228, 203.67989, 201.15791, 202.85966, 201.6804, 202.69449] }
    "chat.e2e"  = { base = [1149.3505, 1107.2793, 1077.0193, 1093.2018, 1105.5784, 1106.2975, 1117.2853, 1099.0058], candidate = [1083.2915, 1077.8856, 1115.9057, 1120.7115, 1085.1851, 1064.4688, 1072.1722, 1065.3985] }
  }
  expect_rules = { "one_of_three" = "inconclusive", "level" = "inconclusive" }
}

case "any: fourth" {
  feature = feature.any
  expect  = "inconclusive"
  launches = {
    "chat.tg"   = { base = [30.650059, 30.271572, 29.705968, 30.475129, 30.305117, 31.111965, 29.084412, 29.561656], candidate = [32.178139, 32.320831, 32.145118, 33.267527, 31.748522, 33.736444, 32.704779, 32.888863] }
    "chat.ttft" = { base = [252.52198, 246.87005, 248.59428, 248.23549, 248.08937, 260.83596, 247.58997, 252.34058], candidate = [202.29735, 196.3162, 200.02423, 204.79088, 196.5996, 209.03407, 198.99397, 200.32096] }
    "chat.e2e"  = { base = [1079.4725, 1108.4055, 1100.5529, 1140.3513, 1103.8502, 1136.6164, 1144.5688, 1097.2965], candidate = [296.95101, 296.62647, 296.62006, 295.96838, 296.05403, 296.79242, 295.22642, 296.11132] }
  }
  expect_rules = { "one_of_three" = "pass", "level" = "inconclusive" }
}

case "any: fifth" {
  feature = feature.any
  expect  = "inconclusive"
  launches = {
    "chat.tg"   = { base = [30.203623, 30.217424, 30.471915, 30.349176], candidate = [32.015811, 31.999264, 31.9337, 31.971739] }
    "chat.ttft" = { base = [247.44873, 250.36589, 249.22639, 251.81032], candidate = [198.19164, 199.70937, 197.11889, 197.99848] }
    "chat.e2e"  = { base = [1103.3875, 1093.9964, 1093.709, 1099.3274], candidate = [1124.8925, 1130.3902, 1124.9686, 1129.8337] }
  }
  expect_rules = { "one_of_three" = "inconclusive", "level" = "inconclusive" }
}

case "nested: first" {
  feature = feature.nested
  expect  = "fail"
  launches = {
    "chat.tg"    = { base = [30.104621, 30.033059, 29.944781, 29.927952, 30.075235, 29.964949, 30.038013, 29.797273], candidate = [32.936279, 32.882129, 32.77007, 32.804821, 32.754885, 32.949976, 33.113585, 32.795876] }
    "chat.ttft"  = { base = [249.23916, 248.86072, 249.33323, 249.15886, 249.91985, 249.76564, 249.37216, 250.42837], candidate = [265.74917, 265.69051, 265.69351, 265.88754, 265.80908, 265.73663, 265.68961, 265.72645] }
    "chat.e2e"   = { base = [1096.741, 1105.3913, 1088.5572, 1101.0934, 1099.5823, 1106.0945, 1096.6089, 1100.59], candidate = [1111.926, 1107.6813, 1107.5933, 1113.237, 1112.9002, 1111.5762, 1110.0474, 1107.3982] }
    "chat.queue" = { base = [3.0531711, 3.0400382, 3.0570964, 2.943868, 3.00995, 2.8978915, 2.9868712, 2.9207697], candidate = [3.4589455, 3.5323036, 3.3474533, 3.3212499, 3.4281694, 2.9794185, 3.3011235, 3.6549626] }
    "chat.pp"    = { base = [3993.4324, 3993.4059, 3985.6378, 3988.4774, 4025.2339, 3958.8147, 3972.9232, 4042.9883], candidate = [5958.3338, 5946.3665, 5963.4577, 5931.6903, 5966.9113, 5956.5047, 5971.8983, 5929.5816] }
  }
}

case "nested: second" {
  feature = feature.nested
  expect  = "inconclusive"
  launches = {
    "chat.tg"    = { base = [30.047615, 29.720615, 29.802598, 29.895734, 29.996746, 29.980934, 30.075965, 30.016571], candidate = [41.91157, 41.853898, 41.954258, 41.839965, 42.170946, 41.962, 41.777305, 41.668923] }
    "chat.ttft"  = { base = [250.14098, 251.69122, 250.25229, 251.92488, 250.09383, 248.92244, 252.86872, 250.46602], candidate = [7.425785, 5.813028, 6.2162869, 6.6291545, 6.1555826, 6.9962208, 5.4769641, 6.0869312] }
    "chat.e2e"   = { base = [1100.1621, 1106.4011, 1098.4452, 1110.2849, 1099.4288, 1090.1954, 1086.6719, 1098.7376], candidate = [908.42987, 969.52382, 940.84452, 990.0344, 881.52192, 973.78745, 1063.9357, 1051.6551] }
    "chat.queue" = { base = [3.0066872, 3.0255318, 2.9939554, 2.9830555, 2.9907803, 3.011119, 3.0120293, 2.9986517], candidate = [2.9930384, 3.0141424, 3.0240801, 3.0069824, 3.0170447, 2.992206, 3.0255896, 3.0265698] }
    "chat.pp"    = { base = [3936.0431, 4058.9173, 3919.3259, 4055.7824, 4051.207, 3951.649, 4085.5195, 4033.0968], candidate = [5754.378, 5884.4091, 5814.3323, 5706.5156, 5816.2269, 5750.8109, 5676.4743, 5912.0937] }
  }
}

case "nested: third" {
  feature = feature.nested
  expect  = "inconclusive"
  launches = {
    "chat.tg"    = { base = [29.891208, 29.877649, 30.890046, 30.535826, 30.215318, 30.713042, 28.994627, 30.042761], candidate = [31.560477, 33.454802, 33.368692, 32.774984, 32.924041, 34.209907, 32.602943, 33.390895] }
    "chat.ttft"  = { base = [250.27014, 250.47738, 247.85291, 250.0724, 249.02344, 250.01274, 249.78245, 250.83383], candidate = [240.91482, 257.80287, 248.07052, 262.01318, 240.33407, 249.26644, 250.38752, 242.53538] }
    "chat.e2e"   = { base = [1067.7068, 1097.6125, 1143.4792, 1108.621, 1124.863, 1079.3776, 1079.0658, 1068.0875], candidate = [2728.8813, 3640.6465, 2337.3456, 2743.7511, 2149.8988, 2268.1127, 2988.4674, 2422.7032] }
    "chat.queue" = { base = [2.8859373, 2.9585215, 3.0387509, 3.0163416, 3.0373287, 3.0199756, 3.0748024, 3.0034734], candidate = [2.8798512, 2.9614637, 3.0403065, 2.9253442, 2.854799, 2.8563721, 2.9335282, 2.9202459] }
    "chat.pp"    = { base = [3943.7631, 3917.3633, 3974.4121, 3934.9836, 4038.2442, 3974.0028, 4136.0925, 3926.0414], candidate = [6035.1497, 5769.9994, 5696.8191, 5791.7319, 5869.8945, 6033.6704, 5811.9944, 6007.4465] }
  }
}

case "nested: fourth" {
  feature = feature.nested
  expect  = "fail"
  launches = {
    "chat.tg"    = { base = [30.271662, 29.956705, 30.082248, 29.922501, 30.019061, 29.997566], candidate = [33.523911, 33.283241, 32.869361, 33.359728, 33.485752, 33.412871] }
    "chat.ttft"  = { base = [249.13969, 251.54005, 250.45646, 252.9993, 250.07051, 249.74822], candidate = [192.88071, 192.59422, 193.13424, 191.03915, 194.05594, 193.21938] }
    "chat.e2e"   = { base = [1096.3679, 1094.2868, 1092.6671, 1104.6887, 1096.4118, 1100.6226], candidate = [1107.5616, 1109.8115, 1101.7373, 1112.3493, 1107.621, 1107.7387] }
    "chat.queue" = { base = [2.9913418, 3.0055677, 3.0017041, 2.9938219, 3.0133749, 2.9777932], candidate = [3.0272781, 3.0259181, 3.0212909, 3.023347, 3.0180035, 3.0047706] }
    "chat.pp"    = { base = [4002.0458, 4010.5831, 3990.181, 4070.9173, 3990.064, 3943.8757], candidate = [5982.9578, 5908.731, 5825.4636, 5804.7922, 6047.4086, 6055.6746] }
  }
}

case "nested: fifth" {
  feature = feature.nested
  expect  = "inconclusive"
  launches = {
    "chat.tg"    = { base = [28.695414, 29.600807, 29.826442, 29.51772, 30.299156, 30.180901, 29.191997, 30.399264], candidate = [51.303336, 44.909917, 35.081921, 41.212198, 33.456972, 39.664425, 47.716392, 44.531346] }
    "chat.ttft"  = { base = [253.45409, 240.38271, 245.08777, 250.71291, 247.37208, 249.82299, 260.60468, 252.17331], candidate = [262.32637, 261.4927, 263.3119, 262.61066, 262.11206, 262.34662, 263.4934, 262.61896] }
    "chat.e2e"   = { base = [1105.6081, 1096.6126, 1099.6854, 1102.2867, 1090.6122, 1101.9887, 1095.1317, 1099.1392], candidate = [1091.5124, 1077.532, 1091.0565, 1097.4139, 1093.0543, 1092.0099, 1088.5195, 1088.8197] }
    "chat.queue" = { base = [3.0142884, 2.9915732, 2.9898331, 2.995632, 3.0329058, 3.0005635, 3.0169516, 2.9789467], candidate = [2.908553, 2.9004712, 2.9221781, 2.9198188, 2.9042541, 2.9263433, 2.9228755, 2.9022645] }
    "chat.pp"    = { base = [4067.9642, 4088.5262, 4067.9199, 3974.74, 4168.3076, 3967.9986, 4060.6379, 4010.2004], candidate = [5881.7084, 5868.7402, 5850.5454, 5859.8166, 5877.5668, 5865.8634, 5862.924, 5884.7772] }
  }
}

case "mixed: first" {
  feature = feature.mixed
  expect  = "inconclusive"
  launches = {
    "chat.tg"          = { base = [29.930517, 29.611769, 30.101392, 30.02577, 30.220468, 29.871931], candidate = [29.478288, 29.490727, 29.481814, 29.485899, 29.483133, 29.486011] }
    "engine.memory_gb" = { base = [20, 20.25, 20.25, 20.25, 20, 20], candidate = [20.1, 20.1, 21, 20.4, 21, 21] }
    "chat.ttft"        = { base = [247.98781, 246.20291, 251.99286, 252.419, 255.08995, 248.4657], candidate = [241.92126, 213.84028, 205.86957, 242.20012, 211.36267, 219.50852] }
    "engine.crashes"   = { candidate = [0, 0, 0, 0, 0, 0] }
    "gpu.memory_gb"    = { candidate = [79.5, 79.5, 79.99, 80, 79.99, 79.5] }
  }
  expect_rules = { "it" = "pass", "memory" = "inconclusive", "share" = "pass" }
}

case "mixed: second" {
  feature = feature.mixed
  expect  = "inconclusive"
  launches = {
    "chat.tg"          = { base = [30.328177, 30.215096, 30.155427, 29.924593], candidate = [29.317579, 29.375861, 29.412342, 29.33104] }
    "engine.memory_gb" = { base = [20, 20.25, 20.25, 20], candidate = [20.4, 21, 20.1, 21] }
    "chat.ttft"        = { base = [249.80836, 256.90979, 243.73037, 250.71436], candidate = [204.9468, 213.61434, 211.73657, 209.77563] }
    "engine.crashes"   = { candidate = [0, 0, 0, 0] }
    "gpu.memory_gb"    = { candidate = [80, 79.99, 79.5, 79.99] }
  }
  expect_rules = { "it" = "inconclusive", "memory" = "inconclusive", "share" = "pass" }
}

case "mixed: third" {
  feature = feature.mixed
  expect  = "fail"
  launches = {
    "chat.tg"          = { base = [29.993602, 30.090726, 29.79529, 29.881463, 29.901401, 29.951261], candidate = [30.372449, 31.596842, 30.207002, 30.719825, 29.443933, 31.389102] }
    "engine.memory_gb" = { base = [20, 20, 20.25, 20.25, 20, 20], candidate = [21, 20.1, 20.1, 20.1, 20.4, 20.1] }
    "chat.ttft"        = { base = [253.78672, 247.91013, 247.2319, 242.08256, 248.16744, 256.10135], candidate = [453.69235, 453.11443, 454.47649, 454.34818, 454.0496, 453.77211] }
    "engine.crashes"   = { candidate = [0, 0, 1, 0, 0, 0] }
    "gpu.memory_gb"    = { candidate = [79.99, 79.5, 80, 80, 79.5, 79.5] }
  }
  expect_rules = { "it" = "fail", "memory" = "inconclusive", "share" = "pass" }
}

case "mixed: fourth" {
  feature = feature.mixed
  expect  = "fail"
  launches = {
    "chat.tg"          = { base = [30.022265, 30.078739, 30.032239, 30.08649, 30.160884, 29.847701, 30.408377, 29.763577], candidate = [23.424442, 21.970609, 28.636814, 23.611471, 16.545247, 17.944777, 21.388714, 20.717131] }
    "engine.memory_gb" = { base = [20.25, 20, 20.25, 20, 20, 20, 20.25, 20], candidate = [21, 20.4, 20.4, 21, 21, 20.6, 21, 21.5] }
    "chat.ttft"        = { base = [252.33739, 245.86139, 242.61905, 257.31936, 248.05974, 254.34767, 250.44018, 258.51857], candidate = [91.951578, 91.930638, 92.011088, 91.957429, 92.049064, 92.054968, 91.935357, 91.972946] }
    "engine.crashes"   = { candidate = [0, 0, 0, 0, 0, 0, 0, 0] }
    "gpu.memory_gb"    = { candidate = [80, 79.99, 79.99, 79.99, 79.5, 79.99, 79.5, 79.5] }
  }
  expect_rules = { "it" = "fail", "memory" = "inconclusive", "share" = "inconclusive" }
}

case "mixed: fifth" {
  feature = feature.mixed
  expect  = "fail"
  launches = {
    "chat.tg"          = { base = [30.32089, 30.394957, 30.220169, 30.144792, 29.751919, 29.186231], candidate = [27.677458, 28.00681, 28.393535, 28.487567, 29.109206, 28.18814] }
    "engine.memory_gb" = { base = [20.25, 20, 20, 20, 20.25, 20], candidate = [20.4, 21, 20.1, 20.4, 21, 20.4] }
    "chat.ttft"        = { base = [248.79457, 251.25011, 252.36456, 248.23694, 250.44833, 249.36189], candidate = [184.88955, 185.07422, 185.00503, 184.9079, 185.0412, 184.87262] }
    "engine.crashes"   = { candidate = [0, 0, 0, 0, 0, 0] }
    "gpu.memory_gb"    = { candidate = [79.99, 80, 80, 80, 79.99, 80] }
  }
  expect_rules = { "it" = "fail", "memory" = "inconclusive", "share" = "pass" }
}

case "gain: a launch without a partner counts nowhere" {
  feature = feature.gain
  expect  = "pass"
  launches = {
    "chat.tg" = { base = [null, 30.1, 29.9, 30.05, 29.95], candidate = [1, 40.1, 39.9, 40.05, 39.95] }
  }
}

case "gain: a launch that lacks the metric" {
  feature = feature.gain
  expect  = "inconclusive"
  launches = {
    "chat.tg" = { base = [30, 30.1, 29.9, 30.05, 29.95], candidate = [40, 40.1, 39.9, 40.05, null] }
    "chat.pp" = { candidate = [40, 40.1, 39.9, 40.05, 39.95] }
  }
}

case "gain: a zero" {
  feature = feature.gain
  expect  = "invalid"
  launches = {
    "chat.tg" = { base = [30, 30.1, 29.9, 30.05, 29.95], candidate = [40, 40.1, 39.9, 40.05, 0] }
  }
}

case "level: a negative" {
  feature = feature.level
  expect  = "invalid"
  launches = {
    "chat.tg" = { candidate = [-1, 40.1, 39.9, 40.05, 39.95] }
  }
}

case "later: ties" {
  feature = feature.later
  expect  = "pass"
  launches = {
    "chat.ttft" = { base = [300, 300, 300, 300], candidate = [310, 310, 310, 310] }
  }
}

case "tail: 58 requests" {
  feature = feature.tail
  expect  = "inconclusive"
  launches = {
    "chat.ttft.p95" = { base = [300, 300, 300, 300], candidate = [200, 201, 199, 200], requests = 58 }
  }
}

case "tail: 59 requests" {
  feature = feature.tail
  expect  = "pass"
  launches = {
    "chat.ttft.p95" = { base = [300, 301, 299, 300], candidate = [200, 201, 199, 200], requests = 59 }
  }
}
