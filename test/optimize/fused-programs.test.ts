import { describe, expect, it } from 'vitest';
import { scalarFused } from '../../runtime/device/cpu/fused/scalar-fused.ts';
import { deviceNamed } from '../../runtime/device/current.ts';
import { events } from '../../runtime/memory/events.ts';
import { fusedOp } from '../../runtime/program/fused/fused-op.ts';
import { unfusedSteps } from '../../runtime/program/fused/unfused.ts';
import { Subgraph } from '../../runtime/run-program/run-program.ts';
import {
  exp,
  type LoadedProgram,
  load,
  randn,
  relu,
  type StaticFunction,
  save,
  seed,
  type Tensor,
  tanh,
  toStatic,
} from '../../src/index.ts';

const chain = (x: Tensor, y: Tensor): Tensor => exp(tanh(x.mul(y)).add(0.5)).mul(relu(x));

describe('an operand that broadcasts by columns', () => {
  const shifted = (x: Tensor, y: Tensor): Tensor => tanh(x.add(y)).mul(2);
  const opsAt = (columns: number) => {
    const f = toStatic(shifted);
    using x = randn([300, columns]);
    using y = randn([columns]);
    f(x, y).dispose();
    return f.programs()[0]!.stages!.planned.forward.steps.map(({ op }) => op);
  };
  const kernelsAt = (columns: number) => opsAt(columns).map(({ op }) => [op.kernel.kind, op.name]);

  it('is fused where rows are long', () => {
    expect(kernelsAt(100)).toEqual([['fused', 'fused(add·tanh·mulScalar)']]);
  });

  it('has a loop of its own over the same rows where it would cut a long loop into short ones', () => {
    expect(kernelsAt(3)).toEqual([['staged', 'fused(add·tanh·mulScalar)']]);
    const parts = opsAt(3)[0]!.parts!.map(({ op }) => op.name);
    expect(parts).toEqual(['add', 'fused(tanh·mulScalar)']);
  });
});

/** The fused op of a captured function, which has been called. */
function plannedOf(f: StaticFunction<typeof chain>) {
  const { planned } = f.programs()[0]!.stages!;
  const step = planned.forward.steps.find(({ op }) => op.parts);
  return { planned, op: step!.op };
}

describe('a fused op', () => {
  seed(3);
  const [x, y] = [randn([6, 50]), randn([50])];
  const captured = toStatic(chain);
  const bytes = (result: Tensor) => [...new Uint8Array(result.dataSync().buffer)];
  const expected = bytes(chain(x, y));

  it('names its ops and the first user line', () => {
    captured(x, y).dispose();
    const { op } = plannedOf(captured);
    expect(op.op.name).toBe('fused(mul·tanh·addScalar·exp·relu·mul)');
    expect(op.at?.file).toContain('fused-programs.test.ts');
    expect(op.parts).toHaveLength(6);
  });

  it('has the bits of its parts, run one by one', () => {
    expect(bytes(captured(x, y))).toEqual(expected);
    const { planned } = plannedOf(captured);
    const plain = {
      ...planned,
      forward: { ...planned.forward, steps: unfusedSteps(planned.forward.steps) },
    };
    expect(plain.forward.steps).toHaveLength(6);
    const [result] = new Subgraph(plain).run([x, y]);
    expect(bytes(result!)).toEqual(expected);
  });

  it('is saved with its parts', async () => {
    const file = await save(captured);
    const loaded = (await load(file)) as LoadedProgram;
    const { kernels: before } = events;
    expect(bytes(loaded(x, y) as Tensor)).toEqual(expected);
    expect(events.kernels - before).toBe(1);
    expect(loaded.programs()[0]).toContain('fused(');
  });

  it('without WebAssembly goes element by element, as exactly as JavaScript computes', () => {
    const { planned, op } = plannedOf(captured);
    const { kernel } = fusedOp(op.parts!, op.outputs, planned.values).op;
    if (kernel.kind !== 'fused') throw new Error('no fused kernel');
    const metas = op.inputs.map((id) => planned.values[id]!);
    const output = planned.values[op.outputs[0]!]!;
    const launch = scalarFused(kernel.body, metas, [output], op.attrs);
    using target = randn([6, 50]);
    launch(
      op.inputs.map((id) => (id === planned.forward.inputs[0] ? x : y)),
      [target],
    );
    const close = chain(x, y).dataSync();
    target.dataSync().forEach((value, i) => {
      expect(Math.abs(value - close[i]!)).toBeLessThan(1e-5 * Math.max(1, Math.abs(close[i]!)));
    });
    expect(output.device).toBe(deviceNamed('cpu'));
  });
});
