/** The order of the ops: valid, never worse than the source's, optimal where that was proved. */

import { describe, expect, it } from 'vitest';
import '../../src/index.ts';
import { events, type MemoryEvent } from '../../runtime/memory/events.ts';
import { opNamed } from '../../runtime/ops/op-table.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { bytesOf } from '../../runtime/program/value-bytes.ts';
import { Subgraph } from '../../runtime/run-program/run-program.ts';
import { cutAt, cutAtLast } from '../../src/7-plan/order/cut-at.ts';
import { LiveBytes, profileOf, sourceOrder } from '../../src/7-plan/order/live-bytes.ts';
import { type MemoryGraph, memoryGraph } from '../../src/7-plan/order/memory-graph.ts';
import { factsOf } from '../../src/7-plan/order/op-facts.ts';
import { orderForMemory } from '../../src/7-plan/order/order.ts';
import { planProgram } from '../../src/7-plan/plan.ts';
import { memory, type Tensor } from '../../src/index.ts';
import { memoryOptions } from '../../src/programs/memory-options.ts';
import { finish } from '../../src/programs/steps.ts';
import { data } from '../run-program/memory-counter.ts';
import { randomInts, randomProgram, side, traced } from './random-program.ts';

const noInputBytes = {
  keep: [],
  carried: new Map(),
  entering: () => ({ bytes: 0, exclusive: false }),
  reuse: true,
} as const;

/** The lowest peak over all orders, by trying all of them. */
function bruteForce(graph: MemoryGraph): number {
  let best = Number.POSITIVE_INFINITY;
  const order: number[] = [];
  const done = new Set<number>();
  const walk = new LiveBytes(graph);
  const extend = () => {
    if (order.length === graph.size) {
      best = Math.min(best, profileOf(walk, Int32Array.from(order)).peak);
      return;
    }
    for (let op = 0; op < graph.size; op++) {
      if (done.has(op) || !graph.before.of(op).every((earlier) => done.has(earlier))) continue;
      done.add(op);
      order.push(op);
      extend();
      order.pop();
      done.delete(op);
    }
  };
  extend();
  return best;
}

/** The same program, in which every op that moves reads each operand through two views of its own. */
function readThroughViews(program: Program): Program {
  const values = [...program.values];
  const ops = program.ops.flatMap((op): ProgramOp[] => {
    if (op.op.kernel.kind === 'view' || op.op.inPlace) return [op];
    const views: ProgramOp[] = [];
    const viewed = (base: ValueId): ValueId => {
      const meta = values[base]!;
      const id = (values.push(meta) - 1) as ValueId;
      const attrs = { shape: meta.shape };
      views.push({ ...op, op: opNamed('reshape'), attrs, inputs: [base], outputs: [id] });
      return id;
    };
    const inputs = op.inputs.map((id) => viewed(viewed(id)));
    return [...views, { ...op, inputs }];
  });
  return { ...program, values, ops };
}

function inOrder(program: Program): Int32Array {
  return sourceOrder(memoryGraph(program, noInputBytes));
}

function run(program: Program, order: boolean) {
  const steps = planProgram(program, {
    keep: [],
    memory: { ...memoryOptions(), order },
    planCall: () => {
      throw new Error('no calls');
    },
    planRegions: () => [],
  });
  const { plan } = finish(steps);
  const subgraph = new Subgraph({ values: program.values, forward: plan, backward: null });
  const inputs = program.inputs.map((_, i) => data([8, 8], { salt: i }));
  const live = new Map<number, number>();
  const stop = events.subscribe((event: MemoryEvent) => {
    if (event.kind === 'free') live.delete(event.ptr);
    if (event.kind !== 'alloc') return;
    for (const [ptr, bytes] of live) {
      expect(event.ptr + event.bytes <= ptr || ptr + bytes <= event.ptr).toBe(true);
    }
    live.set(event.ptr, event.bytes);
  });
  const before = memory.stats('cpu').allocated;
  memory.reset('cpu');
  const outputs = subgraph.run(inputs);
  stop();
  const measured = memory.stats('cpu').peakAllocated - before;
  const bytes = (tensor: Tensor) => [...tensor.dataSync()];
  const result = { outputs: outputs.map(bytes), inputs: inputs.map(bytes) };
  for (const tensor of [...outputs, ...inputs]) tensor.dispose();
  return { result, measured, predicted: plan.predicted };
}

describe('plan/order', () => {
  it.each(Array.from({ length: 40 }, (_, seed) => seed))('random program %i', (seed) => {
    const program = randomProgram(seed, 6 + (seed % 30));
    const [source, planned] = [run(program, false), run(program, true)];
    expect(planned.result).toEqual(source.result);
    for (const { measured, predicted } of [source, planned]) {
      expect(measured).toBe(predicted.peakBytes);
      expect(predicted.lowerBoundBytes).toBeLessThanOrEqual(predicted.peakBytes);
    }
    expect(planned.measured).toBeLessThanOrEqual(source.measured);
  });

  it('does not depend on the number of views between the ops', () => {
    for (let seed = 300; seed < 330; seed++) {
      const program = randomProgram(seed, 40 + 4 * (seed % 30));
      const [plain, viewed] = [program, readThroughViews(program)].map((each) => {
        const { program: ordered, lowerBound } = finish(orderForMemory(each, noInputBytes));
        const { peak } = profileOf(
          new LiveBytes(memoryGraph(ordered, noInputBytes)),
          inOrder(ordered),
        );
        const ops = ordered.ops.filter(({ op }) => op.kernel.kind !== 'view');
        return {
          peak,
          lowerBound: lowerBound(),
          made: ops.map(({ op, outputs: [id] }) => `${id} ${op.name}`),
        };
      });
      expect(viewed, `seed ${seed}`).toEqual(plain);
    }
  });

  it('finds the best of all orders of small programs, and proves it', () => {
    let improved = 0;
    for (let seed = 100; seed < 160; seed++) {
      const program = randomProgram(seed, 7);
      const graph = memoryGraph(program, noInputBytes);
      const best = bruteForce(graph);
      const { program: ordered, lowerBound } = finish(orderForMemory(program, noInputBytes));
      const again = memoryGraph(ordered, noInputBytes);
      const peak = profileOf(new LiveBytes(again), sourceOrder(again)).peak;
      expect({ peak, lowerBound: lowerBound() }, `seed ${seed}`).toEqual({
        peak: best,
        lowerBound: best,
      });
      const given = profileOf(new LiveBytes(graph), sourceOrder(graph)).peak;
      if (peak < given) improved++;
    }
    expect(improved).toBeGreaterThan(3);
  });

  it('bounds the bytes at every op from below, over all orders', () => {
    for (let seed = 200; seed < 220; seed++) {
      const program = randomProgram(seed, 6);
      const graph = memoryGraph(program, noInputBytes);
      const best = bruteForce(graph);
      for (let op = 0; op < graph.size; op++) {
        expect(cutAt(graph, op).bytes).toBeLessThanOrEqual(best);
      }
      const below = randomInts(seed);
      for (let i = 0; i < 6; i++) {
        if (graph.size === 0) break;
        const ops = new Set([below(graph.size), below(graph.size), below(graph.size)]);
        expect(cutAtLast(graph, [...ops])).toBeLessThanOrEqual(best);
      }
    }
  });

  it('bounds the largest programs at their peak, where smaller ops might run at another time', () => {
    const layers = 4600;
    const program = traced((input) => {
      const values = [input()];
      for (let i = 0; i < layers; i++) values.push(values.at(-1)!.exp());
      let gradient = values.at(-1)!.sum().expand([side, side]);
      return values.slice(1).flatMap((_, i) => {
        gradient = gradient.mul(values[layers - i]!);
        return [gradient.matmul(gradient).sum(0).mul(0.1)];
      });
    });
    const { program: ordered, lowerBound } = finish(orderForMemory(program, noInputBytes));
    const graph = memoryGraph(ordered, noInputBytes);
    expect(graph.size).toBeGreaterThan(20_000);
    const { peak } = profileOf(new LiveBytes(graph), sourceOrder(graph));
    expect(lowerBound()).toBeLessThanOrEqual(peak);
    expect(peak).toBeLessThan(1.01 * lowerBound());
  });
});

describe('what is known of an op', () => {
  it('holds where the same op runs again on other values of the same layouts, and nowhere else', () => {
    let [shared, other] = [0, 0];
    for (let n = 0; n < 40; n++) {
      const program = randomProgram(n, 12);
      const values = [...program.values];
      for (const op of program.ops) {
        const facts = factsOf(op, values);
        const copy = (id: ValueId) => (values.push(values[id]!) - 1) as ValueId;
        const again = { ...op, inputs: op.inputs.map(copy), outputs: op.outputs.map(copy) };
        const ofAgain = factsOf(again, values);
        if (ofAgain === facts) shared++;
        expect(ofAgain).toEqual(facts);
        const [last] = again.outputs.slice(-1);
        if (last === undefined) continue;
        // A layout of its own: found anew, for the op that runs again and for one like it.
        values[last] = { ...values[last]!, shape: [...values[last]!.shape, 3] };
        const wide = factsOf(again, values);
        expect(wide.bytes).toEqual(again.outputs.map((id) => bytesOf(values, id)));
        expect(factsOf(op, values)).toBe(facts);
        other++;
      }
    }
    expect(shared).toBeGreaterThan(100);
    expect(other).toBeGreaterThan(100);
  });
});
