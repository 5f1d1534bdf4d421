/** Programs of every memory option are saved and loaded, and have the same gradients and bytes then. */

import { expect, it } from 'vitest';
import {
  loadProgram,
  type MemoryChoice,
  memory,
  nn,
  save,
  seed,
  type Tensor,
  type ToStaticOptions,
  tidy,
  toStatic,
} from '../../src/index.ts';
import { memoryPresets, memorySwitches } from '../../src/programs/memory-options.ts';
import { values } from '../trace/same-as-eager.ts';

const choices: readonly MemoryChoice[] = [
  ...(Object.keys(memoryPresets) as (keyof typeof memoryPresets)[]),
  ...memorySwitches.map((name) => ({ [name]: false })),
  Object.fromEntries(memorySwitches.map((name) => [name, false])),
];
const options: readonly ToStaticOptions[] = [
  { backend: 'interpret' },
  ...choices.map((memory) => ({ memory })),
];

it.each(options.map((each) => [JSON.stringify(each), each] as const))(
  '%s: what is loaded has the gradients of the function',
  async (_, each) => {
    seed(1);
    const net = new nn.Sequential(new nn.Linear(4, 4), new nn.ReLU(), new nn.Linear(4, 4));
    const fn = toStatic((x: Tensor) => net.forward(x).tanh().sum(), { fullGraph: true, ...each });
    const gradientBy = (run: (x: Tensor) => Tensor) =>
      tidy(() => {
        const x = values([2, 4], 3).requiresGrad_();
        run(x).backward();
        const found = x.grad!.tolist();
        x.grad!.dispose();
        return found;
      });
    const expected = gradientBy(fn);
    await fn.ready();
    gradientBy(fn);
    const loaded = await loadProgram(await save(fn));
    const run = loaded as unknown as (x: Tensor) => Tensor;
    expect(gradientBy(run)).toEqual(expected);
    const before = memory.stats('cpu').allocated;
    expect(gradientBy(run)).toEqual(expected);
    expect(memory.stats('cpu').allocated).toBe(before);
    loaded.dispose();
  },
);

it('an argument that requires no gradient gets none from a program made for one that does', async () => {
  const net = new nn.Linear(4, 2);
  const fn = toStatic((x: Tensor) => net.forward(x).sum(), { fullGraph: true });
  fn(values([2, 4]).requiresGrad_()).backward();
  const loaded = await loadProgram(await save(fn));
  const [plain, leaf] = [values([2, 4]), values([2, 4]).requiresGrad_()];
  for (const x of [plain, leaf]) (loaded(x) as Tensor).backward();
  expect(plain.grad).toBeNull();
  expect(leaf.grad).not.toBeNull();
});

it('the gradient of an argument is read and replaced', async () => {
  const eager = (x: Tensor, w: Tensor) => {
    const sum = w.grad ? w.grad.mul(2) : x;
    w.grad = null;
    return sum.add(1);
  };
  const fn = toStatic(eager, { fullGraph: true });
  const call = (run: (x: Tensor, w: Tensor) => unknown, hasGradient: boolean) => {
    const w = values([3], 1).requiresGrad_();
    if (hasGradient) w.grad = values([3], 2);
    return [(run(values([3]), w) as Tensor).tolist(), w.grad];
  };
  for (const has of [false, true, false, true]) call(fn, has);
  const loaded = await loadProgram(await save(fn));
  for (const has of [true, false, true]) {
    expect(call(loaded as never, has)).toEqual(call(eager, has));
  }
});
