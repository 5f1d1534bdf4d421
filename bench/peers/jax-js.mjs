// node jax-js.mjs WORK ROUNDS: prints { least, median } in ms; nothing for works that it can't do in Node.
globalThis.navigator ??= { hardwareConcurrency: 1 };
const { defaultDevice, init, jit, numpy: np, random } = await import('@jax-js/jax');

const [work, rounds] = process.argv.slice(2);
await init('wasm');
defaultDevice('wasm');
const normal = (shape, seed) => random.normal(random.key(seed), shape);

const square = (size) => {
  const [x, y] = [normal([size, size], 1), normal([size, size], 2)];
  const f = jit((a, b) => np.matmul(a, b));
  return () => f(x.ref, y.ref);
};
const works = {
  W1: () => square(512),
  W1b: () => square(1024),
  W6: () => {
    const x = normal([4 << 20], 1);
    const f = jit((x) => {
      const c = np.tanh(x.ref.mul(0.5).add(0.25));
      const f = np.exp(c.ref.mul(c.ref).neg().add(1));
      return np.exp(np.maximum(f.ref.sub(x), 0).add(c).mul(0.3)).div(f);
    });
    return () => f(x.ref);
  },
};
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
