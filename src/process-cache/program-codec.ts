/** Traced programs, before any pass. */

import type { Attrs, AttrValue } from '../../runtime/device/kernel-op.ts';
import { symbolicAttrs } from '../../runtime/device/symbolic-attrs.ts';
import {
  contiguousMeta,
  isContiguousMeta,
  type TensorMeta,
} from '../../runtime/device/tensor-meta.ts';
import type { UserPosition } from '../../runtime/errors/position.ts';
import { copy } from '../../runtime/ops/core/copy.ts';
import { scalarFunctions } from '../../runtime/ops/numbers/scalar-functions.ts';
import {
  isSymbolic,
  type ScalarDecision,
  type ScalarId,
  type ScalarTable,
} from '../../runtime/ops/numbers/symbolic-number.ts';
import { opTable } from '../../runtime/ops/op-table.ts';
import type { OpRecord } from '../../runtime/ops/record/define-op.ts';
import { aliasOp } from '../../runtime/program/alias-op.ts';
import type { PlannedSubgraph, Step } from '../../runtime/program/plan.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { verifySubgraph } from '../../runtime/program/verify/verify-plan.ts';
import { attrReader, readScalars } from '../../runtime/save/attr-reader.ts';
import { type Field, maxScalarArguments } from '../../runtime/save/file/field.ts';
import { encodeAttrs, encodeScalars } from '../../runtime/save/graph-format.ts';
import { dtypeNames, maxRank } from '../../runtime/save/tensors.ts';
import { contiguousStrides, sameShape } from '../../runtime/spec/shape.ts';
import {
  always,
  boolean,
  type Codec,
  integer,
  integers,
  list,
  notStorable,
  oneOf,
  optional,
  pair,
  record,
  string,
} from './codec.ts';
import { device } from './device-codec.ts';

const id = integer() as Codec<ValueId>;
const ids = integers<ValueId>();
const scalarFunction = oneOf(...scalarFunctions.keys());
const scalarArguments = integers<ScalarId>(maxScalarArguments);

const decision = record<ScalarDecision>({
  fn: scalarFunction,
  args: scalarArguments,
  value: boolean,
});
const tableParts = record({
  table: { write: encodeScalars, read: readScalars } as Codec<ScalarTable>,
  needed: integers<ScalarId>(),
  decisions: list(pair(string, decision)),
});

/** The numbers of a program. */
export const scalars: Codec<ScalarTable> = {
  write(table, live) {
    live.scalars = table;
    return tableParts.write({ table, ...table.dependencies() }, live);
  },
  read(field, live) {
    const { table, needed, decisions } = tableParts.read(field, live);
    const isThere = (each: ScalarId) => each < table.nodes.length;
    const isWhole = needed.every(isThere) && decisions.every(([, { args }]) => args.every(isThere));
    if (!isWhole) field.get('needed').fail('numbers of the table');
    table.dependOn({ needed, decisions });
    live.scalars = table;
    live.attrs = attrReader(table);
    return table;
  },
};

const attrs: Codec<Attrs> = {
  write(value, live) {
    const isForeign = (each: unknown) => isSymbolic(each) && each.table !== live.scalars;
    const values = Object.values(value);
    if (values.flat().some(isForeign))
      return notStorable('it computes with numbers of another program');
    return values.length === 0 ? null : encodeAttrs(value);
  },
  // `program` checks which attributes runs may compute, once it knows the ops.
  read: (field, live) => (field.isNull ? {} : live.attrs(field, { has: () => true })),
};

const ownOps = new Map([aliasOp].map((op) => [op.name, op]));
const opNamed = (name: string): OpRecord | undefined => opTable.get(name) ?? ownOps.get(name);

const op: Codec<OpRecord> = {
  write(value, live) {
    if (value.kernel.kind === 'control')
      return notStorable('its program has a branch, a loop or a check');
    if (opNamed(value.name) !== value)
      return notStorable(`it has an op of the user's, ${value.name}`);
    return live.text(value.name);
  },
  read: (field, live) => opNamed(live.text(field)) ?? field.fail('the name of an operator'),
};

/** Its file is one of a few. */
export const position: Codec<UserPosition | undefined> = {
  write: (at, live) => (at ? [live.text(at.file), at.line, at.column] : null),
  read(field, live) {
    if (field.isNull) return undefined;
    const [file, line, column] = field.tuple(3);
    const most = Number.MAX_SAFE_INTEGER;
    return { file: live.text(file!), line: line!.int(0, most), column: column!.int(0, most) };
  },
};

/** True or omitted. */
const isSet: Codec<true | undefined> = {
  write: (value) => value ?? null,
  read: (field) => (field.isNull || !field.boolean() ? undefined : true),
};

const programOp = record<ProgramOp>({
  op,
  inputs: ids,
  outputs: ids,
  at: position,
  recordsGrad: boolean,
  attrs,
  checkpoint: optional(integer()),
  backward: isSet as Codec<true>,
  before: optional(id) as Codec<ValueId>,
  again: optional(id) as Codec<ValueId>,
  parts: always(undefined, 'it has fused ops') as Codec<never>,
  regions: always(undefined, 'its program has a branch or a loop') as Codec<never>,
  call: always(undefined, 'it has a call with data-dependent shapes') as Codec<never>,
});

const sizes = integers(maxRank);
const dtype = oneOf(...dtypeNames);

const meta: Codec<TensorMeta> = {
  write({ shape, strides, offset, ...of }, live) {
    const usual = sameShape(strides, contiguousStrides(shape)) ? null : strides;
    return [of.dtype, shape, usual, offset, device.write(of.device, live)];
  },
  read(field, live) {
    const [type, dims, strides, offset, on] = field.tuple(5) as [Field, Field, Field, Field, Field];
    const shape = sizes.read(dims, live);
    return {
      dtype: dtype.read(type, live),
      shape,
      strides: strides.isNull ? contiguousStrides(shape) : sizes.read(strides, live),
      offset: integer().read(offset, live),
      device: device.read(on, live),
    };
  },
};

const parts = record<Program>({
  values: list(meta),
  inputs: ids,
  ops: list(programOp),
  outputs: ids,
});

/** A consistent program: every op infers the results stored in the file. */
export const program: Codec<Program> = {
  write: parts.write,
  read(field, live) {
    const read = parts.read(field, live);
    const used = read.ops.flatMap((each) => [...each.inputs, ...each.outputs, each.before ?? 0]);
    const all = [...read.inputs, ...read.outputs, ...used];
    if (all.some((value) => value >= read.values.length)) field.fail('values that there are');
    for (const { op: each, attrs } of read.ops) {
      const mayChange = symbolicAttrs(each);
      const isOdd = Object.keys(attrs).some(
        (name) => !mayChange.has(name) && hasSymbol(attrs[name]!),
      );
      if (isOdd) field.get('ops').fail('numbers that are the same in each run');
    }
    const needed = live.scalars?.dependencies();
    verifySubgraph(asPlanned(read), 'trace');
    // The check reads the numbers of every attribute, but that doesn't make the program depend on them.
    if (needed) live.scalars!.dependOn(needed);
    return read;
  },
};

const hasSymbol = (value: AttrValue): boolean =>
  isSymbolic(value) || (Array.isArray(value) && value.some(isSymbolic));

/**
 * Returns the program as a trivial plan for verification, with the copies that kernels read where memory is strided.
 */
function asPlanned({ inputs, outputs, ops, values: storedValues }: Program): PlannedSubgraph {
  const values = [...storedValues];
  const steps: Step[] = [];
  const add = (each: ProgramOp) =>
    steps.push({ op: each, reuses: each.outputs.map(() => null), frees: [] });
  for (const each of ops) {
    const { op: record, inputs: operands } = each;
    const readsRows = record.layout === 'contiguous' && record.kernel.kind !== 'view';
    const contiguous = operands.map((operand, i): ValueId => {
      const meta = values[operand]!;
      const isTarget = record.inPlace && i === 0;
      if (!readsRows || isTarget || isContiguousMeta(meta)) return operand;
      const id = (values.push(contiguousMeta(meta, meta.device)) - 1) as ValueId;
      add({
        op: copy,
        inputs: [operand],
        outputs: [id],
        attrs: {},
        recordsGrad: false,
        at: each.at,
      });
      return id;
    });
    add({ ...each, inputs: contiguous });
  }
  const nothing = { peakBytes: 0, lowerBoundBytes: 0, savedBytes: 0, outputBytes: 0 };
  const forward = {
    ...{ inputs, outputs, steps, unusedInputs: [], freesAtEnd: [], arenaBytes: 0 },
    ...{ reordered: false, predicted: { ...nothing, copiedBytes: 0 } },
  };
  return { values, forward, backward: null };
}
