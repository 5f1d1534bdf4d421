/** Values that are evicted while a budget asks for it: programs, bits, and the choices that another process repeats. */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Program, ValueId } from '../../runtime/program/program.ts';
import { bytesOf } from '../../runtime/program/value-bytes.ts';
import { verifyProgram } from '../../runtime/program/verify/verify.ts';
import { parseFile } from '../../runtime/save/file/container.ts';
import { fusedValues } from '../../src/5-optimize/fuse/fused-form.ts';
import { Candidates } from '../../src/5-optimize/recompute/candidates.ts';
import type { Cost } from '../../src/5-optimize/recompute/choice.ts';
import { walkEvicting } from '../../src/5-optimize/recompute/eviction-walk.ts';
import { Evictions } from '../../src/5-optimize/recompute/evictions.ts';
import { ForwardFacts } from '../../src/5-optimize/recompute/forward-facts.ts';
import { forwardOfStep } from '../../src/5-optimize/recompute/forward-of-step.ts';
import { KeptChoices } from '../../src/5-optimize/recompute/kept-choices.ts';
import { MemoryUses } from '../../src/5-optimize/recompute/memory-uses.ts';
import { recomputeEvicted } from '../../src/5-optimize/recompute/recompute-evicted.ts';
import { OpMemories } from '../../src/7-plan/op-memory.ts';
import { roughBytes, roughOrder } from '../../src/7-plan/plan.ts';
import { sourceOf } from '../../src/check/sources.ts';
import { Captured } from '../../src/dispatch/captured-function.ts';
import {
  type DType,
  deviceGuard,
  memory,
  nn,
  optim,
  randn,
  relu,
  seed,
  type Tensor,
} from '../../src/node/index.ts';
import { shareOfDay } from '../share-of-day.ts';

interface Net {
  readonly channels: number;
  readonly size: number;
  readonly blocks: number;
  readonly batch: number;
  readonly dtype: DType;
}

/** Residual blocks with running statistics, whose convolutions cost much and whose norms cost little, and dropout. */
class Residual extends nn.Module {
  readonly stem: nn.Conv2d;
  readonly blocks: nn.ModuleList<nn.Sequential>;

  constructor({ channels, blocks }: Net) {
    super();
    const conv = (from: number) => new nn.Conv2d(from, channels, 3, { padding: 1, bias: false });
    this.stem = conv(1);
    this.blocks = new nn.ModuleList(
      Array.from(
        { length: blocks },
        () =>
          new nn.Sequential(
            conv(channels),
            new nn.BatchNorm2d(channels),
            new nn.ReLU(),
            new nn.Dropout(0.2),
            conv(channels),
            new nn.BatchNorm2d(channels),
          ),
      ),
    );
  }

  override forward(x: Tensor): Tensor {
    let y = this.stem.forward(x) as Tensor;
    for (const block of this.blocks) y = relu(y.add(block.forward(y) as Tensor));
    return y;
  }
}

function stepOf(net: Net) {
  seed(3);
  const model = new Residual(net).to(net.dtype) as Residual;
  const optimizer = new optim.AdamW(model.parameters(), { lr: 0.01 });
  const step = (x: Tensor) => {
    const loss = model.forward(x).pow(2).mean();
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
  const x = randn([net.batch, 1, net.size, net.size], { dtype: net.dtype });
  const state = () =>
    [...model.parameters(), ...model.buffers()].map((each) => [...each.dataSync()].map(Number));
  const dispose = () => {
    for (const each of [x, optimizer, model]) each.dispose();
  };
  return { step, x, state, dispose };
}

const nets: readonly Net[] = [
  { channels: 4, size: 12, blocks: 4, batch: 4, dtype: 'float32' },
  { channels: 8, size: 7, blocks: 3, batch: 8, dtype: 'float32' },
  { channels: 3, size: 9, blocks: 5, batch: 2, dtype: 'float64' },
];

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tostatic-evictions-'));
  vi.stubEnv('TOSTATIC_CACHE', folder);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

/** The eviction policies among the choices that compilations have left. */
function policies(): unknown[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.plan'));
  return names.flatMap((name) => {
    const { header } = parseFile(readFileSync(join(folder, name)));
    const choices = header.get('choices').value as [string, { how?: unknown }][];
    return choices.flatMap(([search, { how }]) =>
      search === 'recompute' && how && Object.hasOwn(how, 'seeds') ? [how] : [],
    );
  });
}

/** Two steps: losses, parameters and running statistics, and the peak beside what was there before. */
function run(net: Net, budget: number | null | undefined) {
  const { step, x, state, dispose } = stepOf(net);
  const own =
    budget === undefined
      ? null
      : new Captured(step, { memory: { budget, savedMasks: false }, fallback: 'error' });
  const losses: number[] = [];
  let peak = 0;
  for (let i = 0; i < 2; i++) {
    const { allocated } = memory.stats('cpu');
    memory.reset('cpu');
    using loss = own ? (own.call(undefined, [x]) as Tensor) : step(x);
    peak = memory.stats('cpu').peakAllocated - allocated;
    losses.push(loss.itemSync());
  }
  const stages = own?.parts.at(-1)?.stages;
  const result = { losses, state: state() };
  dispose();
  return { result, peak, recompute: stages?.recompute, planned: stages?.planned.forward.predicted };
}

describe.each(shareOfDay(nets))('$blocks blocks, $channels channels, $dtype', (net) => {
  it('have the bits of eager execution and the predicted peak, and another process repeats them', () => {
    const eager = run(net, undefined).result;
    const before = run(net, 2 ** 40).recompute!.bytesBefore();
    let evicted = 0;
    for (const share of [0.6, 0.45]) {
      const budget = Math.floor(before * share);
      rmSync(folder, { recursive: true });
      const searched = run(net, budget);
      expect(searched.result).toEqual(eager);
      expect(searched.peak).toBe(searched.planned!.peakBytes);
      expect(searched.recompute!.bytes).toBeLessThanOrEqual(budget);
      evicted += policies().length;
      const known = run(net, budget);
      expect(known.result).toEqual(eager);
      expect(known.recompute).toEqual({
        ...searched.recompute,
        bytesBefore: expect.any(Function),
      });
      expect(known.recompute!.bytesBefore()).toBe(searched.recompute!.bytesBefore());
    }
    expect(evicted).toBeGreaterThan(0);
  });
});

/** The program of a step, in its order, on the device that only counts. */
function programOf(net: Net): { program: Program; donated: ReadonlySet<ValueId> } {
  return deviceGuard('meta', () => {
    const { step, x, dispose } = stepOf(net);
    const captured = new Captured(step, { memory: { budget: 2 ** 40 }, fallback: 'error' });
    (captured.call(undefined, [x]) as Tensor).dispose();
    const { planned, forward } = captured.parts.at(-1)!.stages!;
    const { donated } = sourceOf(planned)!;
    dispose();
    return { program: forward, donated: new Set(donated.map((i) => forward.inputs[i]!)) };
  });
}

describe.each(shareOfDay(nets, 1))(
  'programs of $blocks blocks, $channels channels, $dtype',
  (net) => {
    const { program, donated } = programOf(net);
    const ordered = roughOrder(program, donated);
    const facts = new ForwardFacts(ordered, forwardOfStep(ordered));
    const memories = new OpMemories(ordered.values);
    const uses = new MemoryUses(facts, (op) => memories.of(op), donated);
    const costOf = (each: Program) => roughBytes(each, donated);
    const donatedBytes = [...donated].reduce((sum, id) => sum + bytesOf(program.values, id), 0);
    const unlimited = { bytes: Number.MAX_SAFE_INTEGER, patience: 0, seeds: [] };
    const whole = walkEvicting(uses, unlimited)!;

    it('stay as they are where the limit is large enough', () => {
      expect(whole.ops).toBe(0);
      expect(recomputeEvicted(uses, unlimited).program.ops).toEqual(ordered.ops);
    });

    it('take more arithmetic for a much lower limit, and stay below it', () => {
      for (const patience of [0, 50, 100]) {
        const works = [0.8, 0.6, 0.5].map((share) => {
          const policy = { bytes: Math.floor(whole.peak * share), patience, seeds: [] };
          const { peak, work, ops } = walkEvicting(uses, policy)!;
          const found = recomputeEvicted(uses, policy);
          verifyProgram(found.program);
          expect(found.ops).toBeGreaterThan(0);
          expect([found.ops, found.work]).toEqual([ops, work]);
          expect(peak).toBeLessThanOrEqual(policy.bytes);
          // A walk ends early where it takes as much arithmetic as is enough.
          expect(walkEvicting(uses, policy, work)).toBeNull();
          expect(walkEvicting(uses, policy, work * 1.01)?.work).toBe(work);
          return work;
        });
        expect(works[2]).toBeGreaterThan(2 * works[0]!);
      }
    });

    it('ask for few prices: one that was found before bounds those after other evictions', () => {
      const at = { bytes: Math.floor(whole.peak * 0.5), patience: 50, seeds: [] };
      const { evicted, priced } = walkEvicting(uses, at)!;
      expect(evicted).toBeGreaterThan(10);
      // With the prices of all live values after each eviction it is up to 18.
      expect(priced / evicted).toBeLessThan(9);
    });

    it('are one candidate where two policies write the same program', () => {
      const evictions = new Evictions(uses, costOf);
      const byText = new Map<string, unknown>();
      let shared = 0;
      for (let level = 1; level < evictions.count; level++) {
        for (const candidate of evictions.at(level)) {
          const { program: made, work } = candidate.make();
          expect(work).toBe(candidate.work);
          const text = textOf(made);
          const known = byText.get(text) ?? candidate;
          expect(known).toBe(candidate);
          if (byText.has(text)) shared++;
          byText.set(text, candidate);
        }
      }
      expect(byText.size).toBeGreaterThan(20);
      expect(shared).toBeGreaterThan(10);
    });

    it('take no less arithmetic at a limit than its bound, which rises from limit to limit', () => {
      const evictions = new Evictions(uses, costOf);
      let before = 0;
      let bounded = 0;
      for (let level = 1; level < evictions.count; level++) {
        const least = evictions.leastWorkAt(level);
        expect(least).toBeGreaterThanOrEqual(before);
        before = least;
        if (least > 0) bounded++;
        for (const { work } of evictions.at(level)) expect(work).toBeGreaterThanOrEqual(least);
      }
      expect(bounded).toBeGreaterThan(20);
    });

    it('below some arithmetic are those of all, though walks end there', () => {
      const all = new Evictions(uses, costOf);
      const below = 0.3 * uses.facts.forwardWork;
      const some = new Evictions(uses, costOf, below);
      const counts = { kept: 0, dropped: 0 };
      for (let level = 1; level < all.count; level++) {
        const isBelow = all.leastWorkAt(level) < below;
        expect(some.leastWorkAt(level) < below).toBe(isBelow);
        if (!isBelow) continue;
        expect(some.leastWorkAt(level)).toBe(all.leastWorkAt(level));
        const found = all.at(level);
        const kept = found.filter(({ work }) => work < below);
        const those = some.at(level);
        expect(those.map(({ how, work }) => [how, work])).toEqual(
          kept.map(({ how, work }) => [how, work]),
        );
        counts.kept += kept.length;
        counts.dropped += found.length - kept.length;
      }
      expect(counts.kept).toBeGreaterThan(10);
      expect(counts.dropped).toBeGreaterThan(0);
    });

    it('come in the order of their arithmetic, and all of a smaller budget are among those of a larger one', () => {
      const most = costOf(program);
      const free = costOf({ ...program, ops: [] });
      const original = new ForwardFacts(program, forwardOfStep(program));
      let before: ReadonlySet<string> = new Set();
      let counted = 0;
      for (const share of [0.48, 0.5, 0.53]) {
        const budget = Math.floor(free + share * (most - free));
        const candidates = new Candidates(original, uses, costOf);
        const found = [...candidates.within(budget, original.forwardWork)];
        expect(found.length).toBeGreaterThan(0);
        for (const each of found) expect(costOf(each.make().program)).toBeLessThanOrEqual(budget);
        const works = found.map(({ work }) => work);
        expect(works).toEqual([...works].sort((a, b) => a - b));
        // Another policy may write the same program.
        const all = new Set(found.map((each) => textOf(each.make().program)));
        counted += before.size;
        for (const each of before) expect(all.has(each)).toBe(true);
        before = all;
      }
      expect(counted).toBeGreaterThan(2);
    });

    // Costing fused forms takes seconds: for one net.
    it.each(net === nets[0] ? [false, true] : [false])(
      'need more than is live in any of them, and below that none is costed; fused: %s',
      (isFused) => {
        let costed = 0;
        const measure: Cost = (each) =>
          costOf(isFused ? fusedValues(each, new Set(each.outputs)) : each);
        const counted: Cost = (each) => {
          costed++;
          return measure(each);
        };
        const original = new ForwardFacts(program, forwardOfStep(program));
        const inFused = new MemoryUses(
          facts,
          (op) => memories.of(op),
          donated,
          () => false,
        );
        const own = isFused ? inFused : uses;
        const fewest = measure({ ...program, ops: [] }) - donatedBytes + own.atLeast;
        const candidates = new Candidates(original, own, counted);
        const lowest = candidates.floor();
        expect(costed).toBeGreaterThan(20);
        for (const { bytes } of lowest) expect(bytes).toBeGreaterThanOrEqual(fewest);
        const others = new Candidates(original, own, counted);
        costed = 0;
        expect([...others.within(fewest - 1, Number.POSITIVE_INFINITY)]).toEqual([]);
        expect(costed).toBe(0);
      },
    );

    it('take less arithmetic than values that are recomputed once and held', () => {
      const most = costOf(program);
      const free = costOf({ ...program, ops: [] });
      const original = new ForwardFacts(program, forwardOfStep(program));
      const held = new KeptChoices(original, costOf).cheapest();
      let less = 0;
      for (const share of [0.55, 0.45]) {
        const budget = Math.floor(free + share * (most - free));
        const [best] = new Candidates(original, uses, costOf).within(
          budget,
          Number.POSITIVE_INFINITY,
        );
        expect(costOf(best!.make().program)).toBeLessThanOrEqual(budget);
        const fitting = held.filter(({ bytes }) => bytes <= budget);
        const least = Math.min(...fitting.map(({ work }) => work));
        expect(best!.work).toBeLessThanOrEqual(least);
        if (best!.work < least) less++;
      }
      expect(less).toBeGreaterThan(0);
    });
  },
);

const textOf = ({ ops }: Program): string =>
  JSON.stringify(ops.map(({ op, inputs, outputs }) => [op.name, inputs, outputs]));
