// node jax-js.mjs WORK ROUNDS: prints { least, median } in ms; nothing for works that it can't do in Node.
globalThis.navigator ??= { hardwareConcurrency: 1 };
const { defaultDevice, init } = await import('@jax-js/jax');

const [work, rounds] = process.argv.slice(2);
await init('wasm');
defaultDevice('wasm');
const { works } = await import('./jax-works.mjs');
const step = works[work]?.();
if (!step) process.exit(0);
const times = [];
for (let round = -3; round < Number(rounds); round++) {
  const start = performance.now();
  const result = step();
  await result.blockUntilReady?.();
  if (round >= 0) times.push(performance.now() - start);
  result.dispose();
}
times.sort((a, b) => a - b);
console.log(JSON.stringify({ least: times[0], median: times[times.length >> 1] }));
process.exit(0);
