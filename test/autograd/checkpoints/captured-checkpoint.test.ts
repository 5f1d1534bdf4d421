/** `checkpoint` in captured functions: eager bits, and no inner value is kept from forward to backward. */

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Captured } from '../../../src/dispatch/captured-function.ts';
import {
  appliedTo,
  checkpoint,
  type MemoryChoice,
  memory,
  nn,
  noGrad,
  optim,
  randn,
  refcounted,
  seed,
  type Tensor,
  toStatic,
} from '../../../src/index.ts';

import { values, weights } from '../../trace/same-as-eager.ts';

const [width, batch, depth] = [32, 64, 8];
const rowBytes = batch * width * 4;

const bytesNow = () => memory.stats('cpu').allocated;
beforeEach(() => {
  vi.spyOn(console, 'warn').mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
});

class Block extends nn.Module {
  first = new nn.Linear(width, width);
  dropout = new nn.Dropout(0.2);
  last = new nn.Linear(width, width);

  override forward(x: Tensor): Tensor {
    return this.last
      .forward(this.dropout.forward(this.first.forward(x).tanh()))
      .tanh()
      .add(x);
  }
}

type Wrap = (block: Block, x: Tensor) => Tensor;

const wraps = {
  none: (block, x) => block.forward(x),
  each: (block, x) => checkpoint((input: Tensor) => block.forward(input), x),
  nested: (block, x) =>
    checkpoint(
      (input: Tensor) => checkpoint((own: Tensor) => block.forward(own), input).mul(1.5),
      x,
    ),
} satisfies Record<string, Wrap>;

interface Run {
  readonly bits: number[];
  readonly peak: number;
  readonly predicted: number;
  readonly saved: number;
  readonly applied: number;
}

/** Some steps, eagerly where no choice is given; `whole`: with backward and update in the function. */
function train(wrap: Wrap, whole: boolean, choice: MemoryChoice | null): Run {
  const before = bytesNow();
  seed(3);
  const blocks = Array.from({ length: depth }, () => new Block());
  const parameters = blocks.flatMap((block) => [...block.parameters()]);
  const optimizer = new optim.SGD(parameters, { lr: 0.01, momentum: 0.9 });
  const forward = (x: Tensor): Tensor => {
    let y = x;
    for (const block of blocks) y = wrap(block, y);
    return y.mul(y).mean();
  };
  const update = (loss: Tensor): void => {
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
  };
  const step = (x: Tensor): Tensor => {
    const loss = forward(x);
    update(loss);
    return loss;
  };
  const fn = whole ? step : forward;
  const captured = choice && new Captured(fn as Captured['fn'], { memory: choice });
  const eager = refcounted(fn);
  const bits: number[] = [];
  let peak = 0;
  for (let i = 0; i < 3; i++) {
    const x = randn([batch, width]);
    memory.reset('cpu');
    const start = bytesNow();
    const loss = captured ? (captured.call(undefined, [x]) as Tensor) : eager(x);
    peak = memory.stats('cpu').peakAllocated - start;
    if (!whole) update(loss);
    bits.push(loss.itemSync());
    for (const each of [loss, x]) each.dispose();
  }
  for (const own of parameters) bits.push(...own.dataSync());
  const part = captured?.parts.at(-1);
  const { predicted } = part?.record.planned?.forward ?? {};
  for (const each of [optimizer, ...blocks]) each.dispose();
  expect(bytesNow()).toBe(before);
  expect(captured?.stats().breaks ?? []).toEqual([]);
  return {
    bits,
    peak,
    predicted: predicted?.peakBytes ?? 0,
    saved: predicted?.savedBytes ?? 0,
    applied: part ? (appliedTo(part)?.checkpoints ?? 0) : 0,
  };
}

describe.each([true, false])('captured checkpoint, whole step %s', (whole) => {
  it.each(['each', 'nested'] as const)(
    '%s block: eager bits, fewer bytes, as predicted',
    { timeout: 180_000 },
    (name) => {
      const eager = train(wraps[name], whole, null);
      const kept = train(wraps.none, whole, {});
      for (const choice of [{}, 'cleaned'] as const) {
        const own = train(wraps[name], whole, choice);
        expect(own.bits, JSON.stringify(choice)).toEqual(eager.bits);
        expect(own.peak).toBe(own.predicted);
        expect(own.applied).toBe(1);
        expect(own.peak).toBeLessThan(0.6 * kept.peak);
        expect(own.peak).toBeLessThanOrEqual(eager.peak);
      }
    },
  );

  it('a budget drops more', () => {
    const eager = train(wraps.each, whole, null);
    const own = train(wraps.each, whole, {});
    const less = train(wraps.each, whole, { budget: Math.floor(0.8 * own.peak) });
    expect(less.bits).toEqual(eager.bits);
    expect(less.peak).toBe(less.predicted);
    if (whole) expect(less.peak).toBeLessThanOrEqual(0.8 * own.peak);
  });
});

it('between forward and backward only what goes into each call is kept', () => {
  expect(train(wraps.each, false, {}).saved).toBe(depth * rowBytes);
  expect(train(wraps.none, false, {}).saved).toBeGreaterThan(2 * depth * rowBytes);
});

it('a call with several results is part of the program, and its values are recomputed', () => {
  const [w, v] = [weights([3], 1), weights([3], 2)];
  const step = (x: Tensor): Tensor => {
    const { y, size } = checkpoint((input: Tensor) => {
      const [a, b] = checkpoint((inner: Tensor) => [inner.mul(w).tanh(), inner.exp()], input);
      const own = a!.mul(v).sigmoid().add(b!);
      return { y: own, size: own.mul(own).mean() };
    }, x);
    const loss = y.sum().add(size);
    loss.backward();
    return loss.detach();
  };
  const bits = (run: (x: Tensor) => Tensor) => {
    const loss = run(values([3]));
    const all = [loss, w.grad!, v.grad!].map((each) => [...each.dataSync()]);
    for (const each of [w, v]) each.grad = null;
    return all;
  };
  const captured = toStatic(step);
  const eager = bits(step);
  for (let call = 0; call < 2; call++) expect(bits(captured)).toEqual(eager);
  expect(captured.stats()).toMatchObject({ breaks: [], fallbacks: [] });
  expect(appliedTo(captured.programs()[0]!)?.checkpoints).toBe(1);
});

type Sum = (norm: nn.BatchNorm1d, x: Tensor) => Tensor;

it.each<[string, Sum]>([
  ['one result', (norm, x) => checkpoint((own: Tensor) => norm.forward(own).tanh(), x).sum()],
  [
    'two results',
    (norm, x) => {
      const [y, z] = checkpoint((own: Tensor) => {
        const all = norm.forward(own);
        return [all.tanh(), all.exp()];
      }, x);
      return y!.sum().add(z!.mean());
    },
  ],
  [
    'two results, of which one is used',
    (norm, x) => {
      const { y } = checkpoint((own: Tensor) => ({ z: norm.forward(own), y: own.mul(2) }), x);
      return y.sum();
    },
  ],
])('a function with effects runs as eagerly, twice: %s', (_, sum) => {
  const run = (isCaptured: boolean) => {
    seed(5);
    const norm = new nn.BatchNorm1d(width);
    const fn = (x: Tensor) => sum(norm, x);
    const captured = isCaptured ? new Captured(fn as Captured['fn'], {}) : null;
    const x = randn([batch, width]).requiresGrad_();
    const losses: number[] = [];
    for (let i = 0; i < 2; i++) {
      const loss = captured ? (captured.call(undefined, [x]) as Tensor) : refcounted(fn)(x);
      loss.backward();
      losses.push(loss.itemSync());
      loss.dispose();
    }
    const state = [norm.runningMean!, norm.runningVar!, norm.numBatchesTracked!, x.grad!];
    const bits = [...losses, ...state.flatMap((own) => [...own.dataSync()])];
    const { weight, bias } = norm;
    for (const own of [x.grad, weight!.grad, bias!.grad, x, norm]) own?.dispose();
    return bits;
  };
  expect(run(true)).toEqual(run(false));
});

/** What eager backward finds when it runs the body again: `x` is a result, `w` and `v` are parameters. */
const changes = {
  'an input is written': 'x.add_(checkpoint(body, x)); x.mul(v).sum().backward(); return x',
  'an input is written, and the caller goes backward': 'return x.add_(checkpoint(body, x))',
  'an input is written that no op inside keeps':
    'w.requiresGrad_(false); x.add_(checkpoint(body, x)); x.mul(v).sum().backward(); return x',
  'a parameter is frozen':
    'x = checkpoint(body, x); w.requiresGrad_(false); x.sum().backward(); return x',
  'a tensor that the body reads is written':
    'const c = x.mul(2); x = checkpoint((a) => a.mul(c).tanh(), x); noGrad(() => c.add_(1)); x.sum().backward(); return x',
  'a result is overwritten':
    'x = checkpoint(body, x); x.mul_(2); x.sum().backward(); return x.detach()',
  'a result is overwritten, and the caller goes backward': 'return checkpoint(body, x).mul_(2)',
  'a result of a call inside is overwritten':
    'return checkpoint((a) => checkpoint(body, a).mul_(2), x)',
  'a view of it is overwritten':
    'x = checkpoint(body, x); x.narrow(0, 0, 1).zero_(); x.sum().backward(); return x.detach()',
  'a parameter is written behind backward':
    'x = checkpoint(body, x); x.sum().backward(); noGrad(() => w.sub_(0.1)); return x.detach()',
};

it.each(Object.entries(changes))('where %s, as eagerly', (_, text) => {
  const outcome = (isCaptured: boolean) => {
    const [w, v] = [weights([3], 1), weights([3], 2)];
    const scope = { w, v, checkpoint, noGrad, body: (a: Tensor) => a.mul(w).tanh() };
    const source = `return (given) => { let x = given.mul(v); ${text}; }`;
    const fn = new Function(...Object.keys(scope), source)(
      ...Object.values(scope),
    ) as Captured['fn'];
    const captured = new Captured(fn, { scope });
    try {
      const result = (
        isCaptured ? captured.call(undefined, [values([3])]) : fn(values([3]))
      ) as Tensor;
      if (result.requiresGrad && text.startsWith('return')) result.sum().backward();
      return [result, w.grad, v.grad].map((each) => each && [...each.dataSync()]);
    } catch (error) {
      return String(error).split('\n')[0];
    }
  };
  expect(outcome(true)).toEqual(outcome(false));
});

const blocks: Readonly<Record<string, (block: Block) => (x: Tensor) => Tensor>> = {
  'a captured function': (block) => toStatic((x: Tensor) => block.forward(x)),
  'a captured function within a budget': (block) =>
    toStatic((x: Tensor) => block.forward(x), { memory: { budget: 0 } }),
  'a function that calls a captured one': (block) => {
    const inner = toStatic((x: Tensor) => block.forward(x).tanh());
    return (x) => inner(x.mul(2)).exp().add(x);
  },
  'captured functions of several sizes, with breaks': (block) => {
    const inner = toStatic((x: Tensor) => {
      const y = block.forward(x).exp();
      return (y.sum().itemSync() as number) > 0 ? y.mul(x) : y;
    });
    return (x) =>
      inner(inner(x).narrow(0, 0, 4))
        .sum(0)
        .add(inner(x));
  },
};

it.each(Object.entries(blocks))('eager checkpoint calls %s', (_name, bodyOf) => {
  const outcome = (wrap: (body: (x: Tensor) => Tensor, x: Tensor) => Tensor) => {
    seed(5);
    const block = new Block();
    const body = bodyOf(block);
    return Array.from({ length: 3 }, () => {
      const x = randn([batch, width]).requiresGrad_();
      const y = wrap(body, x);
      y.square().sum().backward();
      const tensors = [y, x.grad!, ...[...block.parameters()].map(({ grad }) => grad!)];
      const bits = tensors.map((each) => each.tolist());
      block.zeroGrad();
      return bits;
    });
  };
  const plain = outcome((body, x) => body(x));
  expect(outcome((body, x) => checkpoint(body, x))).toEqual(plain);
  expect(outcome((body, x) => checkpoint((own: Tensor) => checkpoint(body, own), x))).toEqual(
    plain,
  );
});
