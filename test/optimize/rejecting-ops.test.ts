/** Ops that may throw are recomputed as well: the second time they have the operands that they took before. */

import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  checkpoint,
  loadProgram,
  memory,
  nn,
  optim,
  randn,
  save,
  seed,
  type Tensor,
  tensor,
  toStatic,
} from '../../src/index.ts';
import { fileOf, partsOf } from '../save/mutations.ts';
import { tryLoad } from '../save/try-load.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

const [entries, width, count] = [32, 16, 256];

/** Rows of a table, by index or by numbers for each element, that are large and cheap to look up. */
const lookups = {
  embedding: (table: nn.Embedding, at: Tensor) => table.forward(at),
  gather: (table: nn.Embedding, at: Tensor) =>
    table.weight.gather(0, at.reshape([count, 1]).expand([count, width])),
  indexSelect: (table: nn.Embedding, at: Tensor) => table.weight.indexSelect(0, at),
};

function stepOf(lookUp: (typeof lookups)['embedding'], isCheckpointed: boolean) {
  seed(4);
  const table = new nn.Embedding(entries, width);
  const layers = Array.from({ length: 3 }, () => new nn.Linear(width, width));
  const parameters = [table, ...layers].flatMap((each) => [...each.parameters()]);
  const optimizer = new optim.SGD(parameters, { lr: 0.1, momentum: 0.9 });
  const scale = randn([count, width]);
  const body = (at: Tensor) => {
    const rows = lookUp(table, at);
    return rows.mul(rows).mul(scale).sin();
  };
  const step = (at: Tensor) => {
    let y = isCheckpointed ? checkpoint(body, at) : body(at);
    for (const layer of layers) y = layer.forward(y).tanh();
    const loss = y.pow(2).mean();
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
  const state = () => parameters.map((each) => [...each.dataSync()]);
  return { step, state };
}

const places = Array.from({ length: count }, (_, i) => (i * 7) % entries);

describe.each(Object.entries(lookups))('%s', (name, lookUp) => {
  it.each([true, false])(
    'checkpoint %s: the bits of eager execution, the predicted peak',
    (isCheckpointed) => {
      vi.spyOn(console, 'warn').mockImplementation(() => {});
      const eager = stepOf(lookUp, isCheckpointed);
      const own = stepOf(lookUp, isCheckpointed);
      const budget = isCheckpointed ? null : 0;
      const f = toStatic(own.step, { memory: { budget, slices: false }, fallback: 'error' });
      const at = tensor(places, { dtype: 'int32' });
      for (let i = 0; i < 3; i++) {
        using expected = eager.step(at);
        const { allocated } = memory.stats('cpu');
        memory.reset('cpu');
        using loss = f(at);
        expect(loss.itemSync()).toBe(expected.itemSync());
        const { forward } = f.programs().at(-1)!.stages!.planned;
        if (i > 0) {
          expect(memory.stats('cpu').peakAllocated - allocated).toBe(forward.predicted.peakBytes);
        }
      }
      expect(own.state()).toEqual(eager.state());
      const { forward } = f.programs().at(-1)!.stages!.planned;
      const again = forward.steps.filter(({ op }) => op.again !== undefined);
      expect(again.map(({ op }) => op.op.name)).toContain(name === 'gather' ? name : 'index');
      // It comes after the first time, and asks for no copies of what is written before it.
      const ops = forward.steps.map(({ op }) => op);
      for (const { op } of again) {
        const first = ops.findIndex(({ outputs }) => outputs.includes(op.again!));
        expect(first).toBeGreaterThanOrEqual(0);
        expect(ops.indexOf(op)).toBeGreaterThan(first);
      }
      expect(forward.predicted.copiedBytes).toBe(0);

      const before = own.state();
      const beyond = tensor(
        places.map((place, i) => (i === 9 ? entries : place)),
        { dtype: 'int32' },
      );
      let error: unknown;
      try {
        eager.step(beyond);
      } catch (thrown) {
        error = thrown;
      }
      expect(error).toBeInstanceOf(Error);
      expect(() => f(beyond)).toThrow((error as Error).message.split('\n')[0]);
      expect(own.state()).toEqual(before);
    },
  );

  it('is known in a file as well: nothing is copied before a run', async () => {
    const { step } = stepOf(lookUp, true);
    const f = toStatic(step, { memory: { slices: false }, fallback: 'error' });
    const at = tensor(places, { dtype: 'int32' });
    f(at).dispose();
    await f.ready();
    const { peakBytes } = f.programs().at(-1)!.stages!.planned.forward.predicted;
    const program = await loadProgram(await save(f));
    for (let i = 0; i < 2; i++) {
      const { allocated } = memory.stats('cpu');
      memory.reset('cpu');
      using expected = f(at);
      memory.reset('cpu');
      using loss = (await program(at)) as Tensor;
      expect(loss.itemSync()).toBe(expected.itemSync());
      expect(memory.stats('cpu').peakAllocated - allocated - 64).toBe(peakBytes);
    }
  });

  it.each([true, false])(
    'checkpoint %s: a file that claims so of other ops or operands is refused',
    async (isCheckpointed) => {
      vi.spyOn(console, 'warn').mockImplementation(() => {});
      const budget = isCheckpointed ? null : 0;
      const { step } = stepOf(lookUp, isCheckpointed);
      const f = toStatic(step, { memory: { slices: false, budget }, fallback: 'error' });
      const at = tensor(places, { dtype: 'int32' });
      f(at).dispose();
      await f.ready();
      const { header, data } = partsOf(await save(f));
      type Op = { op: string; inputs: number[]; outputs: number[]; again?: number; parts?: Op[] };
      type Graph = { values: unknown[]; forward: { inputs: number[]; steps: Op[] } };
      const damaged = (change: (op: Op, ops: readonly Op[], graph: Graph) => void) => {
        const copy = structuredClone(header) as { program: { graphs: Graph[] } };
        for (const graph of copy.program.graphs) {
          const ops = graph.forward.steps.flatMap((op) => op.parts ?? op);
          for (const op of ops) change(op, ops, graph);
        }
        return tryLoad(fileOf(JSON.stringify(copy), data));
      };
      let claims = 0;
      const unchanged = await damaged(({ again }) => {
        if (again !== undefined) claims++;
      });
      expect(unchanged).toBe('loaded');
      expect(claims).toBeGreaterThan(0);
      const refusal = /run again after[\s\S]*same operator and operands/;
      // Of the first time, of another op's result, and of other operands of the same sizes.
      const first = await damaged((op, ops) => {
        const isFirst = ops.some(({ again }) => again === op.outputs[0]);
        if (isFirst) op.again = op.outputs[0]!;
      });
      expect(first).toMatch(refusal);
      const other = await damaged((op) => {
        if (op.again !== undefined) op.again = op.inputs[0]!;
      });
      expect(other).toMatch(refusal);
      const rewritten = await damaged((op, _, { values, forward: { inputs } }) => {
        if (op.again === undefined) return;
        const spec = (id: number) => JSON.stringify(values[id]);
        const [table, ...rest] = op.inputs as [number, ...number[]];
        const momentum = inputs.find((id) => id !== table && spec(id) === spec(table));
        op.inputs = [momentum!, ...rest];
      });
      expect(rewritten).toMatch(refusal);
    },
  );

  it('a file with a backward of its own tells what its forward has run', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    const table = new nn.Embedding(entries, width);
    const scale = randn([count, width]);
    const loss = (at: Tensor) => {
      const rows = lookUp(table, at);
      return rows.mul(rows).mul(scale).sin().pow(2).mean();
    };
    const f = toStatic(loss, { memory: { slices: false, budget: 0 }, fallback: 'error' });
    f(tensor(places, { dtype: 'int32' })).dispose();
    await f.ready();
    const { backward } = f.programs().at(-1)!.stages!.planned;
    expect(backward!.plan.steps.some(({ op }) => op.again !== undefined)).toBe(true);
    expect(await tryLoad(await save(f))).toBe('loaded');
  });
});
