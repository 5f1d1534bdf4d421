/** Prints of each function, or of those that are named, whether it ran as eagerly, and what was traced. */

import { toStatic } from '../../../src/node/index.ts';
import { describeValues } from '../../trace/snapshot.ts';
import { type Step, type StepName, steps } from './steps.ts';

/** Everything that a caller can see, after each call. */
function outcomes({ fn, calls, state }: Step): unknown[] {
  return calls.map((args) => describeValues([fn(...args), args, state?.()]));
}

const names = (process.env.ONLY?.split(',') ?? Object.keys(steps)) as StepName[];
const told = names.map((name) => {
  const expected = outcomes(steps[name]());
  const step = steps[name]();
  const captured = toStatic(step.fn, { strict: true });
  const found = outcomes({ ...step, fn: captured });
  const { translations, knownTraces = 0, unkeptTraces = [] } = captured.stats();
  const isAsEager = JSON.stringify(found) === JSON.stringify(expected);
  return { name, isAsEager, found, translations, knownTraces, unkeptTraces };
});
console.log(JSON.stringify(told));
