package prompt

import "slices"

// prose is what prompts are made of: sentences of our own, ASCII only, so that a
// text may be cut at any byte. They are shuffled anew for every prompt, so that
// no two prompts share more than a sentence.
var prose = slices.Concat(statements, manuals)

// statements are plain ones.
var statements = []string{
	"A river carries sand to the sea, and the sea gives some of it back to the beach.",
	"The lamp on the pier was lit at dusk, long before the first boat came home.",
	"Bread rises because yeast turns sugar into gas, which the dough is too sticky to let go.",
	"On a clear night in winter the cold comes down from the hills like water.",
	"The map showed a road where there was only a line of old stones.",
	"Water boils at a lower temperature on a mountain, so beans take longer to cook there.",
	"She kept the receipts in a tin box and could tell you the price of nails in any year.",
	"A bridge moves a little all day long, and its joints are made to allow it.",
	"The train was late by four minutes, which was early for that line.",
	"Copper turns green in the rain, and the green then keeps the rain from the copper.",
	"Nobody in the village owned a clock, yet everybody was on time for supper.",
	"Light from the sun needs a little more than eight minutes to reach the earth.",
	"He measured the board twice, cut it once, and found that he had held the rule upside down.",
	"Most of an iceberg lies under the water, where the captain cannot see it.",
	"The library closes at six, but the caretaker lets readers finish their page.",
	"Bees fly back by the sun, and on cloudy days by a pattern in the sky that we cannot see.",
	"The first frost sweetens the cabbage and ends the tomatoes.",
	"Two pumps stood in the cellar: one that worked, and one that had been repaired.",
	"Glass is made from sand, soda and lime, and from a great deal of heat.",
	"The letter had been sent to the right house in the wrong town.",
	"A wheel with six spokes is lighter than a wheel with eight, until it breaks.",
	"The moon pulls the ocean up on both sides of the earth, so there are two tides a day.",
	"Rain was promised for Thursday, and on Thursday the farmers waited at their doors.",
	"The carpenter leaves a gap behind the skirting, because wood grows wider in summer.",
	"An owl can turn its head so far that it looks as if it had no back.",
	"They counted the sheep at the gate and again at the barn, and the numbers differed by one.",
	"Salt lowers the freezing point of water, which is why roads are salted.",
	"The violin was older than the country it was played in.",
	"A sailor knows the wind by the sound of the ropes before he feels it on his face.",
	"Paper burns, ink fades, and clay tablets only break.",
	"The baker sells the last loaf for half, and the people who come late know it.",
	"In the dry season the lake shrinks until the old fence posts stand in the open again.",
	"Sound travels faster through iron than through air, so a rail announces the train.",
	"The new mill grinds as much in a day as the old one did in a week, but it eats coal.",
	"Cats sleep through most of the day and deny it.",
	"A good knot holds under load and opens when it is asked to.",
	"The path through the wood is shorter, and the path around it is quicker.",
	"Every spring the stream moves the ford a few steps further down.",
	"He wrote the number on the wall in chalk so that it would not be lost, and then it rained.",
	"Mountains grow by a few millimetres a year and are worn down by nearly as much.",
	"The orchestra tunes to the oboe, since the oboe cannot easily tune to anyone.",
	"A well that is used stays clean, and a well that is closed turns sour.",
	"The port was built for sailing ships, and the cranes now stand where the sails were sewn.",
	"Snow keeps a field warmer than bare frost does.",
	"The teacher asked for one reason, and the class gave her nine.",
	"Steel rusts from the edge where the paint is thin.",
	"From the tower one can see three rivers and, after rain, the steam of the works.",
	"The garden is dug in autumn so that the cold can break the clods.",
	"Her bicycle had been green, then black, and where it was scratched it was both.",
	"A candle flame is hottest at its edge, where it meets the air.",
	"The ferry takes twelve cars, or eleven and the priest.",
	"Old maps leave the middle of the continent white, as if nobody had lived there.",
	"The pendulum of the tall clock is made of two metals, so that heat does not change its length.",
	"When the power failed, the hospital had light within ten seconds and the town by morning.",
	"Swallows fly low before rain because the insects do.",
	"The quarry was closed when the water came in, and the boys have swum in it since.",
	"A scale is only as honest as the stone on its other side.",
	"They planted poplars along the road, which grow fast, and oaks behind them, which stay.",
}

// Prose is those sentences, for who needs some sound English.
func Prose() []string { return slices.Clone(prose) }
