import { afterEach, describe, expect, it, vi } from 'vitest';
import { heap } from '../../runtime/device/cpu/core/heap.ts';
import { InvariantError } from '../../runtime/errors/invariant.ts';
import type { ProgramOp } from '../../runtime/program/program.ts';
import type { Pass, Staged } from '../../src/5-optimize/facts/pass.ts';
import { type PassName, passes } from '../../src/5-optimize/passes.ts';
import {
  breakGraph,
  CheckError,
  crossEntropy,
  dropout,
  memory,
  nn,
  noGrad,
  optim,
  rand,
  randn,
  relu,
  seed,
  type Tensor,
  tensor,
  toStatic,
} from '../../src/index.ts';
import { after } from './finished-pass.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

/** Lets a pass do something wrong beside its work. */
function breakPass(name: PassName, change: (op: ProgramOp) => ProgramOp): void {
  const pass: Pass = passes.find((each) => each.name === name)!;
  const { run } = pass;
  vi.spyOn(pass, 'run').mockImplementation((given, context): Staged => {
    const done = after(run(given, context));
    return { ...done, program: { ...done.program, ops: done.program.ops.map(change) } };
  });
}

function caught(body: () => unknown): CheckError {
  try {
    body();
  } catch (error) {
    expect(error).toBeInstanceOf(CheckError);
    return error as CheckError;
  }
  throw new Error('nothing was thrown');
}

function trainer(options: { check: number }) {
  seed(1);
  const layers = [new nn.Linear(64, 64), new nn.Linear(64, 10)] as const;
  const optimizer = new optim.Adam([...layers[0].parameters(), ...layers[1].parameters()]);
  return toStatic((x: Tensor, labels: Tensor) => {
    optimizer.zeroGrad();
    const loss = crossEntropy(layers[1].forward(relu(layers[0].forward(x))), labels);
    loss.backward();
    optimizer.step();
    return loss;
  }, options);
}

const labels = () => tensor(Int32Array.from({ length: 128 }, (_, i) => i % 10));

/** Computes with another factor. */
function wronged(op: ProgramOp): ProgramOp {
  const attrs = Object.entries(op.attrs).map(([key, value]) =>
    /(^|\.)value$/.test(key) && value === 2 ? [key, 3] : [key, value],
  );
  return { ...op, attrs: Object.fromEntries(attrs) };
}

type Run = (...given: Tensor[]) => unknown;

/** What a user has after one call that counts, logs, draws, keeps and writes: all but its result. */
const sessions: Readonly<Record<string, (capture: (fn: Run) => Run) => unknown>> = {
  'a whole step': (capture) => {
    seed(1);
    const layer = new nn.Linear(8, 8);
    const optimizer = new optim.Adam(layer.parameters());
    const log: number[] = [];
    const kept: { last: Tensor | null; calls: number } = { last: null, calls: 0 };
    const step = capture((x) => {
      log.push(kept.calls++);
      const y = dropout(layer.forward(x).mul(2), 0.5);
      kept.last = y.detach();
      y.sum().backward();
      optimizer.step();
    });
    step(randn([4, 8]));
    const state = [layer.weight, layer.weight.grad!, layer.bias!, kept.last!].map(contentsOf);
    const moments = JSON.stringify(optimizer.stateDict());
    return [state, log, kept.calls, moments, contentsOf(rand([3]))];
  },
  'a break and a donated value': (capture) => {
    const w = tensor([1, 2, 3]).requiresGrad_();
    const kept: Tensor[] = [];
    const f = capture((x) => {
      const y = x.mul(w).mul(3);
      breakGraph();
      const z = y.mul(2).exp();
      kept.push(z);
      return z.sum();
    });
    f(tensor([0.1, 0.2, 0.3]));
    for (const z of kept) z.sum().backward();
    return [kept.map(contentsOf), w.grad && contentsOf(w.grad)];
  },
  'writes to a view, and a graph from before': (capture) => {
    const w = tensor([1, 2, 3]).requiresGrad_();
    const before = w.mul(w);
    const state = tensor([
      [1, 2],
      [3, 4],
    ]);
    const kept = new Map<string, Tensor>();
    const f = capture((x, y) => {
      noGrad(() => state.select(1, 0).mul_(2));
      kept.set('sum', y.mul(2).sum().add(x));
    });
    f(tensor(1), before);
    kept.get('sum')!.backward(undefined, { retainGraph: true });
    before.sum().backward();
    return [contentsOf(state), contentsOf(kept.get('sum')!), contentsOf(w.grad!)];
  },
  branch: (capture) => {
    const state = tensor([1, 2, 3]);
    const kept: Tensor[] = [];
    const f = capture((x) => {
      if (x.sum().itemSync() > 0) noGrad(() => state.mul_(2));
      kept.push(state.mul(2).add(x));
    });
    f(tensor([1, 1, 1]));
    return [contentsOf(state), kept.map(contentsOf)];
  },
};

const contentsOf = (x: Tensor): number[] => [...x.dataSync()] as number[];

describe('check mode', () => {
  it('repeats the first runs of a step by its traced program, and counts them', () => {
    const x = randn([128, 64]);
    const checked = trainer({ check: 2 });
    const plain = trainer({ check: 0 });
    const losses = [checked, plain].map((step) =>
      Array.from({ length: 5 }, () => step(x, labels()).itemSync()),
    );
    expect(losses[0]).toEqual(losses[1]);
    expect(checked.stats().checks.runs).toBeGreaterThanOrEqual(2);
    expect(plain.stats().checks.runs).toBe(0);
  });

  it('checks backwards that begin outside: whole, partial and with the graph retained', () => {
    seed(1);
    const layer = new nn.Linear(16, 4);
    const f = toStatic(
      (x: Tensor) => {
        const y = relu(layer.forward(x));
        return [y.sum(), y.mul(y).mean()] as const;
      },
      { check: 1 },
    );
    const backwards = [
      ([a, b]: readonly Tensor[]) => a!.add(b!).backward(),
      ([a, b]: readonly Tensor[]) => a!.add(b!).backward(),
      ([a]: readonly Tensor[]) => a!.backward(),
      ([a]: readonly Tensor[]) => a!.backward(),
      ([, b]: readonly Tensor[]) => {
        b!.backward(undefined, { retainGraph: true });
        b!.backward();
      },
      ([, b]: readonly Tensor[]) => {
        b!.backward(undefined, { retainGraph: true });
        b!.backward();
      },
    ];
    for (const backward of backwards) backward(f(randn([8, 16])));
    // Of each kind one: whole, the first output, the second retained, the second.
    expect(f.stats().checks.backwards).toBe(4);
  });

  it('leaves the bytes that the plan predicts, and nothing behind', () => {
    const step = trainer({ check: 3 });
    const x = randn([128, 64]);
    const y = labels();
    const bytes: number[] = [];
    for (let i = 0; i < 6; i++) {
      step(x, y).dispose();
      bytes.push(memory.stats().allocated);
      const [part] = step.programs().slice(-1);
      const { planned, peakBytes } = part!.record;
      expect(peakBytes).toBe(planned!.forward.predicted.peakBytes);
    }
    expect(new Set(bytes.slice(2)).size).toBe(1);
  });

  it('names the pass that makes a difference, the first value that differs, and the line', () => {
    breakPass('labelGradient', (op) =>
      op.op.name === 'mulScalar' ? { ...op, attrs: { ...op.attrs, value: 3 } } : op,
    );
    const f = toStatic((x: Tensor) => x.mul(2).exp().sum(), { check: 1 });
    const error = caught(() => f(randn([4])));
    expect(error.culprit).toBe('labelGradient');
    expect(error.value?.op).toBe('mul');
    expect(error.at?.file).toMatch(/check-mode\.test\.ts$/);
    expect(error.message).toContain("the pass 'labelGradient' makes the difference");
    expect(error.message).toContain('passes: { labelGradient: false }');
  });

  it("names the pass that fuses ops, which works on the plan's order", () => {
    breakPass('fusePointwise', (op) =>
      op.parts ? { ...op, attrs: { ...op.attrs, '0.value': 3 } } : op,
    );
    const f = toStatic((x: Tensor) => x.mul(2).exp(), { check: 1 });
    const error = caught(() => f(randn([4])));
    expect(error.culprit).toBe('fusePointwise');
    expect(error.value?.op).toBe('exp');
    expect(error.at?.file).toMatch(/check-mode\.test\.ts$/);
    expect(error.message).toContain('passes: { fusePointwise: false }');
  });

  it('names the pass that makes a difference in a backward alone', () => {
    breakPass('shareParts', (op) =>
      op.op.name === 'reluGrad' ? { ...op, inputs: [op.inputs[0]!, op.inputs[0]!] } : op,
    );
    const f = toStatic((x: Tensor) => relu(x).sum(), { check: 1 });
    const x = randn([16]).requiresGrad_();
    const y = f(x);
    expect(caught(() => y.backward()).culprit).toBe('shareParts');
  });

  it.each(Object.keys(sessions) as (keyof typeof sessions)[])(
    'leaves everything as eager execution does, whatever is wrong: %s',
    (name) => {
      const session = sessions[name]!;
      const eager = session((fn) => fn);
      breakPass('fusePointwise', wronged);
      breakPass('deadCode', wronged);
      let errors = 0;
      const checked = session((fn) => {
        const captured = toStatic(fn, { check: 1, fullGraph: name === 'branch' });
        return (...given: Tensor[]) => {
          errors++;
          // The values that a call returned are lost with it.
          expect(caught(() => captured(...given)).culprit).not.toBeNull();
        };
      });
      expect(errors).toBeGreaterThan(0);
      expect(checked).toEqual(eager);
    },
  );

  it('poisons freed memory', () => {
    toStatic((x: Tensor) => x, { check: 1 })(tensor(1));
    const freed = randn([8]);
    const { ptr } = freed.holder!;
    freed.dispose();
    expect([...heap.u8.subarray(ptr, ptr + 32)].every((byte) => byte === 0xff)).toBe(true);
  });

  it('checks each path of a branch and of a loop', () => {
    const f = toStatic(
      (x: Tensor) => {
        let y = x;
        if (x.sum().itemSync() > 0) y = y.mul(2);
        while (y.sum().itemSync() < -10) y = y.mul(0.5);
        return y;
      },
      { check: 1, fullGraph: true },
    );
    for (const value of [1, 2, 3]) f(tensor([value, value]));
    expect(f.stats().checks.runs).toBe(1);
    f(tensor([-1, -1]));
    f(tensor([-1, -2]));
    expect(f.stats().checks.runs).toBe(2);
    f(tensor([-100, -100]));
    expect(f.stats().checks.runs).toBe(3);
  });

  it('writes lines of the console once', () => {
    const log = vi.spyOn(console, 'log').mockImplementation(() => {});
    const f = toStatic(
      (x: Tensor) => {
        console.log('sum', x.sum().itemSync());
        return x.mul(2);
      },
      { check: 2, fullGraph: true },
    );
    f(tensor([1, 2]));
    expect(log.mock.calls).toEqual([['sum', 3]]);
  });

  it('agrees where a check of the user fails', () => {
    const f = toStatic(
      (x: Tensor) => {
        if (x.sum().itemSync() < 0) throw new RangeError('negative');
        return x.mul(2);
      },
      { check: 2, fullGraph: true },
    );
    expect([...f(tensor([1])).dataSync()]).toEqual([2]);
    expect(() => f(tensor([-1]))).toThrow('negative');
  });

  it('throws what compiling throws, since a part that runs eagerly would compare nothing', () => {
    const pass: Pass = passes.find(({ name }) => name === 'deadCode')!;
    vi.spyOn(pass, 'run').mockImplementation((given, context): Staged => {
      const { program } = given;
      return { ...given, program: { ...program, ops: program.ops.slice(1) } };
    });
    const body = (x: Tensor) => x.mul(2).exp().sum();
    expect(() => toStatic(body, { check: 1 })(tensor([1]))).toThrow(InvariantError);
    const unchecked = toStatic(body, { check: 0 });
    expect(unchecked(tensor([1])).itemSync()).toBeCloseTo(Math.exp(2), 4);
    expect(unchecked.stats().fallbacks).toMatchObject([
      { why: expect.stringContaining('tostatic failed') },
    ]);
  });

  it('is refused for what is no number of runs', () => {
    expect(() => toStatic((x: Tensor) => x, { check: -1 })).toThrow(/not a number of runs/);
  });
});
