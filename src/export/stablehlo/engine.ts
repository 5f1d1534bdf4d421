import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import type { Engine, GradientArithmetic, OpCall, RowTables } from '../target/target.ts';
import { Emitter, typeOf, type Value } from './emit/emitter.ts';
import { emitOp } from './mapping.ts';

/** Programs as StableHLO ops: sizes are numbers. */
export class StableHloEngine extends Emitter implements Engine<Value> {
  readonly gradients: GradientArithmetic<Value> = {
    filled: ({ element, shape }, value) => this.constant(value, element, shape),
    and: (x, y) => this.binary('and', x, y),
    or: (x, y) => this.binary('or', x, y),
  };
  readonly rows: RowTables<Value> | null;

  /** `maxIterations`: of loops that gradients flow through; null: such loops are rejected. */
  constructor(maxIterations: number | null) {
    super();
    this.rows = maxIterations === null ? null : this.#rows(maxIterations);
  }

  #rows(count: number): RowTables<Value> {
    const first = (table: Value, number: Value): Value[] => [
      number,
      ...table.shape.slice(1).map(() => this.constant(0, 'i32')),
    ];
    return {
      count,
      write: (table, row, number) => {
        const wide = this.reshape(row, [1, ...row.shape]);
        const operands = [table, wide, ...first(table, number)];
        return this.generic('dynamic_update_slice', operands, '', table.element, table.shape);
      },
      read: (table, number) => {
        const [, ...shape] = table.shape;
        const sizes = `slice_sizes = array<i64: ${[1, ...shape].join(', ')}>`;
        const operands = [table, ...first(table, number)];
        const row = this.generic('dynamic_slice', operands, sizes, table.element, [1, ...shape]);
        return this.reshape(row, shape);
      },
    };
  }

  argument(index: number, _name: string, element: Value['element'], shape: Value['shape']): Value {
    return { id: `%arg${index}`, element, shape };
  }

  shapeOf({ values }: Pick<Program, 'values'>, id: ValueId): Value['shape'] {
    return values[id]!.shape;
  }

  randomCount(count: number): Value {
    return this.constant(count, 'f64');
  }

  attrsOf({ attrs }: ProgramOp): ProgramOp['attrs'] {
    return attrs;
  }

  emit(call: OpCall<Value>): readonly Value[] {
    return emitOp({ ...call, to: this });
  }

  branch(condition: Value, branches: readonly (() => readonly Value[])[]): readonly Value[] {
    const bodies = branches.map((body) => this.#region(body));
    const text = bodies.map(({ lines }) => `{\n${lines}\n    }`).join(', ');
    const { results } = bodies[0]!;
    return this.#several(`"stablehlo.if"(${condition.id}) (${text})`, [condition], results);
  }

  loop(
    carried: readonly Value[],
    condition: (carried: readonly Value[]) => Value,
    body: (carried: readonly Value[]) => readonly Value[],
  ): readonly Value[] {
    const regions = [(values: readonly Value[]) => [condition(values)], body].map((run) => {
      const names = carried.map((value) => ({ ...value, id: this.fresh() }));
      const { lines } = this.#region(() => run(names));
      const parameters = names.map((value) => `${value.id}: ${typeOf(value)}`).join(', ');
      return `{\n    ^bb0(${parameters}):\n${lines}\n    }`;
    });
    const ids = carried.map(({ id }) => id).join(', ');
    return this.#several(`"stablehlo.while"(${ids}) (${regions.join(', ')})`, carried, carried);
  }

  #region(body: () => readonly Value[]): { lines: string; results: readonly Value[] } {
    const from = this.lines.length;
    const results = this.nested(() => {
      const values = body();
      const ids = values.map(({ id }) => id).join(', ');
      this.line(`"stablehlo.return"(${ids}) : (${values.map(typeOf).join(', ')}) -> ()`);
      return values;
    });
    return { lines: this.lines.splice(from).join('\n'), results };
  }

  #several(text: string, operands: readonly Value[], results: readonly Value[]): Value[] {
    if (results.length === 0) return [];
    const id = this.fresh();
    const name = results.length > 1 ? `${id}:${results.length}` : id;
    const types = `(${operands.map(typeOf).join(', ')}) -> (${results.map(typeOf).join(', ')})`;
    this.line(`${name} = ${text} : ${types}`);
    return results.map((value, i) => ({ ...value, id: results.length > 1 ? `${id}#${i}` : id }));
  }
}
