package main

// holderMutants weaken what a holder's handle and its client do with grants and contexts.
var holderMutants = []mutant{
	{"H2", "the limit is stored before the beginning of its grant", "sequencer/bounds.go",
		"		g.low.Store(max(g.low.Load(), (grant.From-g.epoch)*counters))\n		g.limit.Store(limit)\n",
		"		g.limit.Store(limit)\n		g.low.Store(max(g.low.Load(), (grant.From-g.epoch)*counters))\n", tableTests},
	{"H5", "an answer to a claim extends what the handle holds now", "client/renew.go",
		"e.control.Renewed(shown.ID, res.Grant)", "held, _ := e.control.Held()\n			e.control.Renewed(held.ID, res.Grant)", clientTests},
	{"S2", "a claim does not show how far it was granted", "client/home.go", ", Until: a.Grant.Until,", ",", clientTests},
	{"H2", "a handle that lost its node may go back to earlier timestamps", "sequencer/lost.go", "last: max(t.last, t.gen.stop())", "last: min(t.last, t.gen.stop())", tableTests},
	{"H4", "a handle that lost its node stops before its grant ends", "sequencer/lost.go", "s.clock.Now() < until {", "s.clock.Now() < until-100 {", tableTests},
	{"states", "a handle that lost its node stays Attached", "client/lost.go", "		c.background(func(context.Context) { c.lapse(ctx, e, id) })\n", "", clientTests},
	{"states", "a handle that lost its node tries only once for another", "client/lost.go", "for pause := retryAfter; err != nil && ctx", "for pause := retryAfter; err == nil && ctx", clientTests},
	{"contexts", "a short wait does not look at its context", "sequencer/wait.go", "if err := ctx.Err(); err != nil {\n		return err", "if err := ctx.Err(); err != nil && until > at+2 {\n		return err", tableTests},
	{"trail", "saturation is remembered for as long as the trail is deep", "sequencer/generator.go", "	memory Tick = 50\n", "	memory Tick = 4\n", tableTests},
}
