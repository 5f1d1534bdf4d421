// node gpu.mjs tfjs|jax-js WORK MS: prints { ms } of a step on WebGPU; nothing for works that the library can't do.
import { create, globals } from 'webgpu';

Object.assign(globalThis, globals);
const gpu = create([]);
globalThis.navigator ??= { hardwareConcurrency: 1, userAgent: 'Node' };
Object.defineProperty(navigator, 'gpu', { value: gpu, configurable: true });

const [library, work, leastMs = '100'] = process.argv.slice(2);
const { works, finish } = await import(`./gpu-${library}.mjs`);
const step = works[work]?.();
if (!step) process.exit(0);

/** Runs steps and awaits their results at the end, because a library may skip unread results. */
async function round(steps) {
  const start = performance.now();
  const results = [];
  for (let i = 0; i < steps; i++) results.push(await step());
  await finish(results);
  const ms = performance.now() - start;
  for (const result of results) result.dispose();
  return ms;
}
for (let i = 0; i < 3; i++) await round(1);
let steps = 1;
for (let ms = await round(1); ms < Number(leastMs) && steps < 256; ms = await round(steps)) {
  steps *= 2;
}
const times = [];
for (let i = 0; i < 7; i++) times.push((await round(steps)) / steps);
console.log(JSON.stringify({ ms: times.sort((a, b) => a - b)[3] }));
process.exit(0);
