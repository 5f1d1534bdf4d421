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
  type ScalarNode,
  ScalarTable,
  SymbolicNumber,
} from '../../runtime/ops/numbers/symbolic-number.ts';
import { opTable } from '../../runtime/ops/op-table.ts';
import type { OpRecord } from '../../runtime/ops/record/define-op.ts';
import { aliasOp } from '../../runtime/program/alias-op.ts';
import type { PlannedSubgraph, Step } from '../../runtime/program/plan.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { verifySubgraph } from '../../runtime/program/verify/verify-plan.ts';
import { type Field, maxScalarArguments } from '../../runtime/save/file/field.ts';
import { dtypeNames, maxRank } from '../../runtime/save/tensors.ts';
import { contiguousStrides, sameShape } from '../../runtime/spec/shape.ts';
import {
  always,
  boolean,
  type Codec,
  integer,
  integers,
  list,
  notKept,
  number,
  oneOf,
  optional,
  pair,
  primitive,
  record,
  string,
  variants,
} from './codec.ts';
import { device } from './device-codec.ts';

const id = integer() as Codec<ValueId>;
const ids = integers<ValueId>();
const scalarFunction = oneOf(...scalarFunctions.keys());
const scalarArguments = integers<ScalarId>(maxScalarArguments);

const node = variants<ScalarNode>(() => ({
  input: record({ index: integer() }),
  constant: record({ value: number }),
  apply: record({ fn: scalarFunction, args: scalarArguments }),
}));
const decision = record<ScalarDecision>({
  fn: scalarFunction,
  args: scalarArguments,
  value: boolean,
});
const tableParts = record({
  nodes: list(pair(node, number)),
  needed: integers<ScalarId>(),
  decisions: list(pair(string, decision)),
});

/** The numbers of a program. They refer only to earlier ones, and inputs are in order. */
export const scalars: Codec<ScalarTable> = {
  write(table, live) {
    live.scalars = table;
    const nodes = table.nodes.map((each, i) => [each, table.values[i]!] as const);
    return tableParts.write({ nodes, ...table.dependencies() }, live);
  },
  read(field, live) {
    const { nodes, needed, decisions } = tableParts.read(field, live);
    let inputs = 0;
    nodes.forEach(([each], i) => {
      const isInOrder =
        each.kind === 'input'
          ? each.index === inputs++
          : each.kind === 'constant' || each.args.every((arg) => arg < i);
      if (!isInOrder) field.get('nodes').fail('numbers that follow from earlier ones');
    });
    const isThere = (each: ScalarId) => each < nodes.length;
    const isWhole = needed.every(isThere) && decisions.every(([, { args }]) => args.every(isThere));
    if (!isWhole) field.get('needed').fail('numbers of the table');
    const table = ScalarTable.of(nodes);
    table.dependOn({ needed, decisions });
    live.scalars = table;
    return table;
  },
};

const attr: Codec<AttrValue> = {
  write(value, live) {
    if (isSymbolic(value)) {
      if (value.table !== live.scalars)
        return notKept('it computes with numbers of another program');
      return { scalar: value.id };
    }
    if (Array.isArray(value)) return value.map((item: number) => attr.write(item, live));
    return primitive.write(value as number | boolean | string, live);
  },
  read(field, live) {
    if (Array.isArray(field.value)) {
      if (field.value.every((item) => typeof item === 'number')) return field.value;
      return field.items().map((item) => {
        const value = attr.read(item, live);
        return typeof value === 'number' || isSymbolic(value)
          ? (value as number)
          : item.fail('a number');
      });
    }
    if (field.has('scalar')) {
      const { scalars: table } = live;
      const last = table ? table.nodes.length - 1 : -1;
      return new SymbolicNumber(table!, field.get('scalar').int(0, last) as ScalarId);
    }
    const value = primitive.read(field, live);
    const isAttr = ['number', 'boolean', 'string'].includes(typeof value);
    return isAttr ? (value as AttrValue) : field.fail('a number, a text, true or false');
  },
};

const attrs: Codec<Attrs> = {
  write(value, live) {
    const entries = Object.entries(value);
    if (entries.length === 0) return null;
    return Object.fromEntries(entries.map(([name, each]) => [name, attr.write(each, live)]));
  },
  read(field, live) {
    if (field.isNull) return {};
    return Object.fromEntries(field.entries().map(([name, each]) => [name, attr.read(each, live)]));
  },
};

const ownOps = new Map([aliasOp].map((op) => [op.name, op]));
const opNamed = (name: string): OpRecord | undefined => opTable.get(name) ?? ownOps.get(name);

const op: Codec<OpRecord> = {
  write(value, live) {
    if (value.kernel.kind === 'control')
      return notKept('its program has a branch, a loop or a check');
    if (opNamed(value.name) !== value) return notKept(`it has an op of the user's, ${value.name}`);
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
    for (const { op: each, attrs: given } of read.ops) {
      const mayChange = symbolicAttrs(each);
      const isOdd = Object.keys(given).some(
        (name) => !mayChange.has(name) && hasSymbol(given[name]!),
      );
      if (isOdd) field.get('ops').fail('numbers that are the same in each run');
    }
    const needed = live.scalars?.dependencies();
    verifySubgraph(asPlanned(read), 'trace');
    // The check reads the numbers of every attribute, but the program doesn't depend on them for that.
    if (needed) live.scalars!.dependOn(needed);
    return read;
  },
};

const hasSymbol = (value: AttrValue): boolean =>
  isSymbolic(value) || (Array.isArray(value) && value.some(isSymbolic));

/** The program as a trivial plan for verification, with the copies that kernels read where memory is strided. */
function asPlanned({ inputs, outputs, ops, values: given }: Program): PlannedSubgraph {
  const values = [...given];
  const steps: Step[] = [];
  const add = (each: ProgramOp) =>
    steps.push({ op: each, reuses: each.outputs.map(() => null), frees: [] });
  for (const each of ops) {
    const { op: record, inputs: operands } = each;
    const readsRows = record.layout === 'contiguous' && record.kernel.kind !== 'view';
    const contiguous = operands.map((operand, i): ValueId => {
      const given = values[operand]!;
      const isTarget = record.inPlace && i === 0;
      if (!readsRows || isTarget || isContiguousMeta(given)) return operand;
      const made = (values.push(contiguousMeta(given, given.device)) - 1) as ValueId;
      add({
        op: copy,
        inputs: [operand],
        outputs: [made],
        attrs: {},
        recordsGrad: false,
        at: each.at,
      });
      return made;
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
