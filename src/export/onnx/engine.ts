import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import type { PortableProgram } from '../lowering/portable-program.ts';
import type { Dim, Dims } from '../target/dims.ts';
import type { SymbolicSizes } from '../target/symbolic-sizes.ts';
import type { Element, Engine, OpAttr, OpCall } from '../target/target.ts';
import { Emitter, type SizeReader, type Value } from './emit/emitter.ts';
import { emitOp } from './mapping.ts';

/** Programs as ONNX nodes; sizes may be those of a call. */
export class OnnxEngine extends Emitter implements Engine<Value> {
  readonly gradients = null;
  readonly rows = null;
  readonly #sizes: SymbolicSizes | null;

  readonly #names: ReadonlyMap<string, string>;

  /** `names`: better names of arguments than their paths. */
  constructor(
    { sizes }: Pick<PortableProgram, 'sizes'>,
    names: ReadonlyMap<string, string>,
    size: SizeReader,
  ) {
    super(size);
    this.#sizes = sizes;
    this.#names = names;
  }

  argument(_index: number, name: string, element: Element, shape: Dims): Value {
    return { id: this.#names.get(name) ?? name, element, shape };
  }

  shapeOf({ values }: Pick<Program, 'values'>, id: ValueId): Dims {
    return this.#sizes?.dimsOf(values, id) ?? values[id]!.shape;
  }

  randomCount(count: number): Value {
    if (!this.#sizes) return this.constant(count, 'f64');
    return this.sizeNumber(this.#sizes.randomNumbers as Dim);
  }

  attrsOf(op: ProgramOp): Readonly<Record<string, OpAttr>> {
    return { ...op.attrs, ...this.#sizes?.attrsOf(op) };
  }

  emit(call: OpCall<Value>): readonly Value[] {
    return emitOp({ ...call, to: this });
  }

  branch(condition: Value, branches: readonly (() => readonly Value[])[]): readonly Value[] {
    const [then, otherwise] = branches.map((body, i) =>
      this.nested(i === 0 ? 'then' : 'else', [], body),
    ) as [ReturnType<Emitter['nested']>, ReturnType<Emitter['nested']>];
    if (then.results.length === 0) return [];
    return this.node('If', [this.reshape(condition, [])], then.results, {
      then_branch: { graph: then.graph },
      else_branch: { graph: otherwise.graph },
    });
  }

  loop(
    carried: readonly Value[],
    condition: (carried: readonly Value[]) => Value,
    body: (carried: readonly Value[]) => readonly Value[],
  ): readonly Value[] {
    const first = this.reshape(condition(carried), []);
    const [iteration, holds, ...inside] = [
      { element: 'i64' as const, shape: [] },
      { element: 'i1' as const, shape: [] },
      ...carried,
    ].map(({ element, shape }) => ({ id: this.fresh(), element, shape })) as [
      Value,
      Value,
      ...Value[],
    ];
    const { graph } = this.nested('body', [iteration, holds, ...inside], () => {
      const next = body(inside);
      return [this.reshape(condition(next), []), ...next];
    });
    // Without a bound on the iterations.
    return this.node('Loop', [null, first, ...carried], carried, { body: { graph } });
  }
}
