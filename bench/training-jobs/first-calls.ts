/** One process of `bench/first-calls.ts`: the job's name and `eager` or `captured`; prints milliseconds as JSON. */

import { seed, tidy, toStatic } from '../../src/index.ts';
import { jobs } from './jobs.ts';

const [name, way] = process.argv.slice(2);
seed(1);
const { step, inputs } = jobs[name!]!();
const call = way === 'eager' ? step : toStatic(step);
const start = performance.now();
const since = () => performance.now() - start;
let two = 0;
for (let i = 0; i < 50; i++) {
  tidy(() => void call(...inputs).itemSync());
  if (i === 1) two = since();
}
console.log(JSON.stringify({ two, fifty: since() }));
