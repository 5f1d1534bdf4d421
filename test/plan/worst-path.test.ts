import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Plan } from '../../runtime/program/plan.ts';
import type { ProgramOp } from '../../runtime/program/program.ts';
import { SimulatedRun } from '../../runtime/run-program/simulate/simulated-run.ts';
import { explorePaths } from '../../src/7-plan/control/explore-paths.ts';
import { predictRun } from '../../src/7-plan/control/predict-run.ts';
import { ResumableRun } from '../../src/7-plan/control/resumable-run.ts';
import { UniformPath } from '../../src/7-plan/control/uniform-path.ts';
import { WorstCase } from '../../src/7-plan/control/worst-case.ts';
import { type SimulatePath, worstPath } from '../../src/7-plan/control/worst-path.ts';
import { cat, type Tensor, tensor, tidy, toStatic, zeros } from '../../src/index.ts';

/** Control ops that are nothing but something to decide. */
const ops = (count: number) => Array.from({ length: count }, () => ({}) as ProgramOp);

/** Bytes of a run, step by step, from what is decided. */
function counting(
  bytesOf: (path: UniformPath) => readonly number[],
  steps = 1,
): SimulatePath & { runs: number } {
  const follow = (path: UniformPath) => {
    follow.runs++;
    const peaks = bytesOf(path);
    return { peaks, peakBytes: Math.max(...peaks), steps };
  };
  follow.runs = 0;
  return follow;
}

describe('the path that needs most', () => {
  it('of thirty branches is found with one run for each', () => {
    const all = ops(30);
    // Each has the bytes of its own at all later steps; odd ones need more on the first path.
    const follow = counting((path) => {
      const kept = all.map((op, i) => (path.branch(op) === i % 2 ? 0 : 10 + i));
      return all.map((_, step) => kept.slice(0, step + 1).reduce((a, b) => a + b, 0));
    });
    const { path: worst } = worstPath(follow);
    expect(all.map((op) => worst.chosen.get(op))).toEqual(all.map((_, i) => 1 - (i % 2)));
    expect(follow.runs).toBeLessThanOrEqual(32);
  });

  it('is met inside of branches that the first path does not take', () => {
    const [a, b, c, d, e] = ops(5) as [ProgramOp, ProgramOp, ProgramOp, ProgramOp, ProgramOp];
    const follow = counting((path) => {
      const inner =
        path.branch(a) === 1
          ? path.branch(b) === 1
            ? path.iterations(c, false) === 1
              ? 9
              : 4
            : 5
          : 6;
      return [inner, inner + (path.branch(d) === 1 ? 3 : 0) + (path.branch(e) === 0 ? 2 : 0)];
    });
    const { path: worst } = worstPath(follow);
    const decided = [a, b, c, d, e].map((op) => worst.chosen.get(op));
    expect(decided).toEqual([1, 1, 1, 1, 0]);
  });

  it('is looked for from decision to decision where paths share memory', () => {
    const all = ops(8);
    // One piece that any of the last three holds, counted once, and a step that needs two paths together.
    const follow = counting((path) => {
      const [a, b, c, d, e, f, g, h] = all.map((op) => path.branch(op)) as number[];
      const shared = f! + g! + h! > 0 ? 50 : 0;
      return [10 * (a! + b! + c! + d! + e!) + shared, a! && b! && !h! ? 95 : 0];
    });
    const { path: worst } = worstPath(follow);
    expect(follow(worst).peakBytes).toBe(100);
  });

  it('is looked for with 200,000 steps, and on a few paths in any case', () => {
    const all = ops(40);
    const bytesOf = (path: UniformPath) => [all.filter((op) => path.branch(op) === 1).length];
    const runs = [10_000, 1_000_000].map((steps) => {
      const follow = counting(bytesOf, steps);
      worstPath(follow);
      return follow.runs;
    });
    expect(runs).toEqual([21, 9]);
  });

  it('of a function is found in steps that grow as the branches do', () => {
    const steps = [5, 10, 20].map((count) => {
      const f = (x: Tensor) => {
        let [before, now] = [x, x];
        for (let i = 0; i < count; i++) {
          // On one path it is another name of memory that is read once more.
          const z = x.sum().itemSync() > i ? now : now.add(1);
          [before, now] = [now, z.add(before).tanh()];
        }
        return now;
      };
      const simulated = vi.spyOn(SimulatedRun.prototype, 'peakOf');
      const graph = toStatic(f, { fullGraph: true });
      tidy(() => graph(tensor([1, 2])));
      void graph.ready();
      // Without frees, memory differs until the end.
      const { length } = simulated.mock.calls.filter(([plan]) => plan.steps.some(frees));
      simulated.mockRestore();
      return length;
    });
    const [few, some, many] = steps as [number, number, number];
    expect((many - some) / (some - few)).toBeLessThan(2.4);
  });

  it('is the highest of all 1,024 paths of a function, forward and backward', () => {
    const f = (x: Tensor) => {
      let sum = x;
      const kept: Tensor[] = [];
      for (let i = 0; i < 5; i++) {
        const wide =
          i % 2 === 0
            ? sum
                .unsqueeze(0)
                .expand([8, 4])
                .mul(i + 1)
            : sum.mul(2);
        if (sum.sum().itemSync() > i) sum = sum.add(wide.tanh().mean().mul(wide.sum()));
        else sum = sum.mul(cat([wide, wide]).sin().sum());
        kept.push(
          sum.max().itemSync() > 3 ? zeros([40 * (5 - i)]).add(sum.sum()) : zeros([40 * (5 - i)]),
        );
      }
      return [sum, ...kept];
    };
    const graph = toStatic(f, { fullGraph: true });
    tidy(() => graph(tensor([1, 2, 3, 4]).requiresGrad_()));
    const { planned } = graph.programs()[0]!.stages!;
    const paths = [...everyPath(new UniformPath(), (path) => predictRun(planned, path))];
    expect(paths).toHaveLength(1024);
    const highest = (of: (each: (typeof paths)[number]) => number) => Math.max(...paths.map(of));
    expect(planned.forward.predicted.peakBytes).toBe(highest(({ forward }) => forward.peakBytes));
    expect(planned.backward!.plan.predicted.peakBytes).toBe(
      highest(({ backwardPeak }) => backwardPeak!),
    );
  });
});

describe('of several plans', () => {
  const mixed = (x: Tensor) => {
    let [a, b, wide] = [x, x, x];
    for (let i = 0; a.sum().itemSync() > i; i++) {
      if (b.sum().itemSync() > i) a = b.mul(2);
      else b = a.unsqueeze(0).expand([8, 4]).sin().sum([0]);
      wide = b.unsqueeze(0).expand([4, 4]).mul(i).sum([0]);
    }
    const first = a.unsqueeze(0).expand([64, 4]).exp();
    const second = b.unsqueeze(0).expand([64, 4]).exp();
    return first.matmul(wide).sum().add(second.matmul(wide).sum());
  };
  const compiled = () => {
    const graph = toStatic(mixed, { fullGraph: true, check: 0 });
    tidy(() => graph(tensor([1, -2, 3, -4])));
    void graph.ready();
    return graph.programs()[0]!.stages!.planned;
  };
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it('only the chosen one is simulated on all paths', () => {
    const explored = vi.spyOn(ResumableRun.prototype, 'moveOut');
    const { forward, values } = compiled();
    const count = explored.mock.calls.length;
    explored.mockClear();
    const entering = { alone: () => false, donated: () => false };
    explorePaths(forward, values, entering, new UniformPath(), 6_000);
    expect(count).toBeGreaterThan(0);
    expect(count).toBe(explored.mock.calls.length);
  });

  it('another one is chosen if that needs less on its worst path', () => {
    const least = compiled().forward.predicted.peakBytes;
    const bytes = vi.spyOn(WorstCase.prototype, 'peakBytes', 'get');
    bytes.mockImplementation(function (this: WorstCase) {
      const { leastPeakBytes: own } = this;
      return own === least ? 10 * own : own;
    });
    expect(compiled().forward.predicted.peakBytes).toBeGreaterThan(least);
  });
});

const frees = ({ frees }: Plan['steps'][number]): boolean => frees.length > 0;

function* everyPath<T>(
  from: UniformPath,
  run: (path: UniformPath) => T,
  settled = 0,
): Generator<T> {
  const found = run(from);
  const [open] = [...from.options].slice(settled);
  if (!open) {
    yield found;
    return;
  }
  const [op, options] = open;
  for (const decision of options) yield* everyPath(from.with(op, decision), run, settled + 1);
}
