import { ArgumentError } from '../../../runtime/errors/errors.ts';
import { unfusedOps } from '../../../runtime/program/fused/unfused.ts';
import type { ProgramOp, ValueId, ValueTable } from '../../../runtime/program/program.ts';
import type { Field } from '../../../runtime/save/file/field.ts';
import type { ReadGraph } from '../../../runtime/save/graph-reader.ts';
import type { SavedSource } from '../../../runtime/save/saved-source.ts';
import { holeOf, type SizeExpr } from '../../../runtime/save/size-expr.ts';
import type { SavedSizes } from '../../../runtime/save/sized-program.ts';

/** An attribute as a function of sizes. */
export type SizeAttr = SizeExpr | readonly SizeExpr[];

/** The numbers of a program for every size, as functions of the sizes of a call. */
export interface SymbolicSizes {
  /** The locations of the sizes in a call. */
  readonly places: readonly SavedSource[];
  /** How many random numbers a run draws. */
  readonly randomNumbers: SizeExpr;
  dimsOf(values: ValueTable, id: ValueId): readonly SizeExpr[];
  /** The attributes of an op that depend on sizes. */
  attrsOf(op: ProgramOp): Readonly<Record<string, SizeAttr>>;
}

/** Throws ArgumentError if a result of the function is a number that depends on sizes. */
export function symbolicSizes(
  { places }: SavedSizes,
  document: Field,
  graphs: readonly ReadGraph[],
): SymbolicSizes {
  const entry = document.get('entry');
  for (const part of ['result', 'effects', 'makes']) {
    if (JSON.stringify(entry.get(part).value)?.includes('"$size"')) throw sizeReturned();
  }
  const dims = new Map<ValueTable, readonly (readonly SizeExpr[])[]>();
  const attrs = new Map<ProgramOp, Readonly<Record<string, SizeAttr>>>();
  document
    .get('graphs')
    .items()
    .forEach((graph, g) => {
      const { planned, region } = graphs[g]!;
      const shapes = graph.get('values').items();
      dims.set(
        planned.values,
        shapes.map((meta) => meta.items()[1]!.items().map(exprOf)),
      );
      const steps = graph.get('forward').get('steps').items();
      const fields = steps.flatMap((step) =>
        step.has('parts') ? step.get('parts').items() : [step],
      );
      unfusedOps(region.program.ops).forEach((op, i) => {
        const own = fields[i]!.get('attrs');
        if (!own.isMissing) attrs.set(op, sizedAttrs(own));
      });
    });
  return {
    places,
    randomNumbers: exprOf(entry.get('randomNumbers')),
    dimsOf: (values, id) => dims.get(values)![id]!,
    attrsOf: (op) => attrs.get(op) ?? {},
  };
}

function exprOf(field: Field): SizeExpr {
  return holeOf(field.value) ?? (field.value as number);
}

function sizedAttrs(field: Field): Readonly<Record<string, SizeAttr>> {
  const sized = field.entries().flatMap(([name, attr]): [string, SizeAttr][] => {
    const hole = holeOf(attr.value);
    if (hole !== undefined) return [[name, hole]];
    if (!Array.isArray(attr.value)) return [];
    const items = attr.items();
    return items.some(({ value }) => holeOf(value) !== undefined)
      ? [[name, items.map(exprOf)]]
      : [];
  });
  return Object.fromEntries(sized);
}

function sizeReturned(): ArgumentError {
  return new ArgumentError({
    what: 'export: a result that is a number computed from sizes',
    given: 'a program for every size',
    expected: 'tensors as results, or a program for one set of sizes',
    remedy: "leave the number out, or export with { sizes: 'fixed' }",
  });
}
