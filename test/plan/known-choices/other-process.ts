/** Prints what the first call of a job is in this process. */

import { Captured } from '../../../src/dispatch/captured-function.ts';
import { type Tensor, tidy } from '../../../src/node/index.ts';
import { jobs } from './jobs.ts';
import { planText } from './plan-text.ts';

const { step, inputs } = jobs[process.argv[2]!]!();
const captured = new Captured(step, {});
const results = [tidy(() => [...(captured.call(undefined, inputs) as Tensor).dataSync()])];
const { stages, isFirst } = captured.parts[0]!;
const { knownPlans } = captured.stats();
console.log(JSON.stringify({ results, plan: planText(stages!.planned), knownPlans, isFirst }));
