/** Programs that a backend runs: the bits and bytes of the device's kernels, whatever it computes itself. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { counts, jsBackend } from '../../examples/js-backend.ts';
import {
  type Backend,
  breakGraph,
  type CompiledProgram,
  memory,
  type Plan,
  type Program,
  type RunningSteps,
  randn,
  registerBackend,
  seed,
  type Tensor,
  type ToStaticOptions,
  tensor,
  toStatic,
} from '../../src/index.ts';
import { buildTraining, type TrainingCase } from '../training-steps/training-case.ts';

const bytesNow = () => memory.stats('cpu').allocated;

/** Runs each step by `run`; by default as it is. */
function stepwise(
  run: (steps: RunningSteps, step: number, program: Program) => void = (steps, step) =>
    steps.kernel(step),
): Backend {
  return {
    name: 'stepwise',
    compile: (program: Program, plan: Plan): CompiledProgram => ({
      run(steps) {
        for (let i = 0; i < plan.steps.length; i++) run(steps, i, program);
      },
      dispose() {},
    }),
  };
}

const cases: readonly TrainingCase[] = [
  { module: 'Linear', optimizer: 'AdamW', seed: 901 },
  { module: 'Conv2d', optimizer: 'SGD', seed: 902 },
  { module: 'BatchNorm2d', optimizer: 'Adagrad', seed: 908 },
  { module: 'Dropout', optimizer: 'RMSprop', seed: 918 },
  { module: 'LayerNorm', optimizer: 'NAdam', seed: 920 },
];

/** Losses, parameters and peaks of some steps. */
function trained(given: TrainingCase, options: ToStaticOptions) {
  const start = bytesNow();
  const training = buildTraining(given);
  const step = toStatic(training.step, options);
  const seen = [0, 1, 2, 3].map((i) => {
    const batch = training.batch(i);
    memory.reset('cpu');
    const before = bytesNow();
    const loss = step(...batch);
    const peak = memory.stats('cpu').peakAllocated - before;
    const value = loss.itemSync();
    for (const each of [loss, ...batch]) each.dispose();
    return { value, peak };
  });
  const parts = step.programs();
  const predicted = parts.map(({ stages }) => stages!.planned.forward.predicted.peakBytes);
  if (parts.length === 1 && step.stats().kernels.eager === 0) {
    expect(seen.at(-1)!.peak).toBe(predicted[0]);
  }
  const parameters = training.optimizer.parameters.map((own) => [...own.dataSync()]);
  training.optimizer.zeroGrad();
  for (const each of [...training.modules, training.optimizer]) each.dispose();
  expect(bytesNow()).toBe(start);
  return { seen, parameters };
}

describe.each<[string, string | Backend]>([
  ['that does each step by its kernel', stepwise()],
  ['of one JavaScript function per program', jsBackend],
])('a backend %s', (_, backend) => {
  it.each(cases)('trains $module by $optimizer with the bits and bytes of the kernels', (given) => {
    const loops = counts.loops;
    // The same plan from the first step on.
    const memory = { prefer: 'bytes' } as const;
    expect(trained(given, { memory, backend })).toEqual(trained(given, { memory }));
    if (backend === jsBackend) expect(counts.loops).toBeGreaterThan(loops);
  });

  it('runs backwards outside of the program, twice where the graph is retained', () => {
    const gradients = (options: ToStaticOptions) => {
      seed(2);
      const [x, w] = [randn([6, 4]), randn([4, 4]).requiresGrad_()];
      const f = toStatic(
        (given: Tensor) => given.matmul(w).mul(0.5).add(given).abs().sum(),
        options,
      );
      const loss = f(x);
      loss.backward(undefined, { retainGraph: true });
      const once = [...w.grad!.dataSync()];
      loss.backward();
      return [once, [...w.grad!.dataSync()]];
    };
    expect(gradients({ backend })).toEqual(gradients({}));
  });

  it('runs branches, loops and numbers that change from call to call', () => {
    const outcome = (options: ToStaticOptions) => {
      const f = toStatic(
        (x: Tensor, factor: number, turns: Tensor) => {
          let y = x.mul(factor);
          for (let i = 0; i < turns.itemSync(); i++) y = y.add(x).mul(0.5);
          return y.sum().itemSync() > 0 ? y.sub(1) : y.neg();
        },
        { ...options, fullGraph: true },
      );
      seed(3);
      const x = randn([5]);
      return [1.5, 2.5, -3.25, 0.1].map((factor, i) => [
        ...f(x, factor, tensor(i, { dtype: 'int32' })).dataSync(),
      ]);
    };
    expect(outcome({ backend })).toEqual(outcome({}));
  });

  it('writes in place, and takes donated inputs over', () => {
    const run = (options: ToStaticOptions) => {
      seed(4);
      const [x, sum] = [randn([64, 64]), randn([64, 64])];
      const f = toStatic((given: Tensor) => {
        const doubled = given.mul(2);
        breakGraph();
        sum.add_(doubled);
        return doubled.neg().sub(1);
      }, options);
      const seen: unknown[] = [];
      for (let i = 0; i < 3; i++) {
        memory.reset('cpu');
        const before = bytesNow();
        const y = f(x);
        seen.push(memory.stats('cpu').peakAllocated - before, [...y.dataSync()]);
        y.dispose();
      }
      const donated = f.programs().map(({ record }) => [...record.donated]);
      return { seen, donated, sum: [...sum.dataSync()], version: sum.holder!.version };
    };
    const kernels = run({});
    expect(kernels.donated.flat().length).toBeGreaterThan(0);
    expect(run({ backend })).toEqual(kernels);
  });
});

describe('a backend that breaks its contract', () => {
  const f = (backend: Backend) =>
    toStatic((x: Tensor) => x.mul(2).sum().exp().add(1), { backend, check: 0 });
  const x = randn([4]);

  it.each<[string, Backend, RegExp]>([
    ['skips steps', stepwise((steps, i) => i === 0 && steps.kernel(i)), /run has returned/],
    ['does one twice', stepwise((steps) => steps.kernel(0)), /kernel\(0\)/],
    ['never ends one', stepwise((steps, i) => void steps.begin(i)), /end\(0\)/],
    ['ends what has not begun', stepwise((steps, i) => steps.end(i)), /begin first/],
  ])('and %s is told so, and nothing is left behind', (_, backend, message) => {
    const before = bytesNow();
    const run = f(backend);
    expect(() => run(x)).toThrow(message);
    expect(() => run(x)).toThrow(/left the order of the plan/);
    expect(bytesNow()).toBe(before);
  });

  it('throws what it throws', () => {
    const backend = stepwise((steps, i) => {
      if (i === 1) throw new RangeError('no such thing');
      steps.kernel(i);
    });
    const before = bytesNow();
    expect(() => f(backend)(x)).toThrow(RangeError);
    expect(bytesNow()).toBe(before);
  });

  it('and computes other bits is found by check mode', () => {
    const wrong = stepwise((steps, i, { ops, values }) => {
      const [out] = ops[i]!.outputs;
      if (i > 0 || !steps.begin(i)) return i > 0 ? steps.kernel(i) : undefined;
      new Float32Array(steps.buffer, steps.address(out!), values[out!]!.shape[0] ?? 1).fill(7);
      steps.end(i);
    });
    const run = toStatic((x: Tensor) => x.mul(2).sum().exp().add(1), { backend: wrong, check: 1 });
    expect(() => run(x)).toThrow(/differs from its traced program/);
  });
});

describe('the registry', () => {
  it('has the interpreter, whose bits are those of the kernels', () => {
    const run = (backend: string) => trained(cases[0]!, { backend });
    const [interpreted, kernels] = [run('interpret'), run('wasm')];
    const bits = ({ seen, parameters }: typeof kernels) => [
      seen.map(({ value }) => value),
      parameters,
    ];
    expect(bits(interpreted)).toEqual(bits(kernels));
    const f = toStatic((x: Tensor) => x.mul(1).mul(1), { backend: 'interpret' });
    f(randn([3])).dispose();
    expect(f.programs()[0]!.stages!.planned.forward.steps).toHaveLength(2);
  });

  it('finds backends by their names, and rejects unknown and taken ones', () => {
    expect(() => toStatic((x: Tensor) => x, { backend: 'xla' })).toThrow(/wasm, interpret,.* js/);
    expect(() => registerBackend({ ...jsBackend })).toThrow(/the name is taken/);
    expect(() => registerBackend({ ...jsBackend, name: 'wasm' })).toThrow(/the name is taken/);
    registerBackend(jsBackend);
    const nothing = { backend: {} as Backend };
    expect(() => toStatic((x: Tensor) => x, nothing)).toThrow(/no backend/);
    const both = { backend: 'interpret', memory: 'planned' } as const;
    expect(() => toStatic((x: Tensor) => x, both)).toThrow(/leave them out/);
  });
});

it('disposes a compiled program once nothing can run it any more', async () => {
  let disposed = 0;
  const backend: Backend = {
    name: 'counted',
    compile: (...given) => ({
      ...stepwise().compile(...given),
      dispose: () => {
        disposed++;
      },
    }),
  };
  (() => toStatic((x: Tensor) => x.add(1), { backend })(randn([2])).dispose())();
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let i = 0; i < 20 && disposed === 0; i++) {
    collect();
    await new Promise((done) => setTimeout(done, 10));
  }
  expect(disposed).toBe(1);
});
