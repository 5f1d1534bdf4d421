import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { badWeights } from '../../runtime/weights/bad-file.ts';

type Scalar = 'int32' | 'int64' | 'uint64' | 'float' | 'double' | 'bool' | 'string' | 'bytes';

/** One field of a message: its number, its type, and whether it repeats. */
interface FieldSpec {
  readonly no: number;
  /** A scalar, or the schema of a nested message; a function, since schemas refer to each other. */
  readonly kind: Scalar | (() => Schema<object>);
  readonly repeated: boolean;
}

/** The fields of a message by their names here; unknown field numbers are skipped. */
export type Schema<T extends object> = { readonly [K in keyof T]-?: FieldSpec };

type Kind<T extends object> = Scalar | (() => Schema<T>);

export const one = <T extends object>(no: number, kind: Kind<T>): FieldSpec => ({
  no,
  kind: kind as FieldSpec['kind'],
  repeated: false,
});

export const many = <T extends object>(no: number, kind: Kind<T>): FieldSpec => ({
  no,
  kind: kind as FieldSpec['kind'],
  repeated: true,
});

/** Encodes a message. Undefined fields are omitted; repeated numbers are packed. */
export function encodeMessage<T extends object>(schema: Schema<T>, message: T): Uint8Array {
  const writer = new BinaryWriter();
  write(writer, schema as Schema<object>, message);
  return writer.finish();
}

function write(writer: BinaryWriter, schema: Schema<object>, message: object): void {
  for (const [name, spec] of Object.entries(schema) as [string, FieldSpec][]) {
    const value = (message as Readonly<Record<string, unknown>>)[name];
    if (value === undefined) continue;
    const { no, kind, repeated } = spec;
    if (!repeated) writeOne(writer, no, kind, value);
    else if (typeof kind === 'string' && isPacked(kind)) {
      const items = value as readonly number[];
      if (items.length === 0) continue;
      writer.tag(no, WireType.LengthDelimited).fork();
      for (const item of items) writeScalar(writer, kind, item);
      writer.join();
    } else for (const item of value as readonly unknown[]) writeOne(writer, no, kind, item);
  }
}

function writeOne(writer: BinaryWriter, no: number, kind: FieldSpec['kind'], value: unknown): void {
  if (typeof kind === 'string') {
    writer.tag(no, wireTypes[kind]);
    writeScalar(writer, kind, value);
    return;
  }
  writer.tag(no, WireType.LengthDelimited).fork();
  write(writer, kind(), value as object);
  writer.join();
}

const wireTypes: { readonly [S in Scalar]: WireType } = {
  int32: WireType.Varint,
  int64: WireType.Varint,
  uint64: WireType.Varint,
  bool: WireType.Varint,
  float: WireType.Bit32,
  double: WireType.Bit64,
  string: WireType.LengthDelimited,
  bytes: WireType.LengthDelimited,
};

const isPacked = (kind: Scalar): boolean => kind !== 'string' && kind !== 'bytes';

function writeScalar(writer: BinaryWriter, kind: Scalar, value: unknown): void {
  if (kind === 'string') writer.string(value as string);
  else if (kind === 'bytes') writer.bytes(value as Uint8Array);
  else if (kind === 'bool') writer.bool(value as boolean);
  else if (kind === 'int64' || kind === 'uint64') writer[kind](BigInt(value as number));
  else writer[kind](value as number);
}

/** The deepest nesting of messages: decoding recurses. */
const maxDepth = 100;

/**
 * Decodes a message; `format` names the file in errors. Every length is checked before it is used, bytes are views
 * of the file, and 64-bit integers beyond 2 ** 53 are rounded. Throws DataError for anything that is not such a
 * message.
 */
export function decodeMessage<T extends object>(
  schema: Schema<T>,
  bytes: Uint8Array,
  format: string,
): T {
  try {
    return new Decoder(format).message(schema as Schema<object>, bytes, 0) as T;
  } catch (error) {
    if (error instanceof RangeError || (error instanceof Error && error.constructor === Error)) {
      throw badWeights(format, 'its messages', error.message, 'whole protobuf messages', error);
    }
    throw error;
  }
}

const fieldsByNumber = new WeakMap<object, ReadonlyMap<number, readonly [string, FieldSpec]>>();

function numbered(schema: Schema<object>): ReadonlyMap<number, readonly [string, FieldSpec]> {
  const known = fieldsByNumber.get(schema);
  if (known) return known;
  const entries = Object.entries(schema) as [string, FieldSpec][];
  const fields = new Map(entries.map((entry) => [entry[1].no, entry] as const));
  fieldsByNumber.set(schema, fields);
  return fields;
}

class Decoder {
  readonly #format: string;

  constructor(format: string) {
    this.#format = format;
  }

  message(schema: Schema<object>, bytes: Uint8Array, depth: number): object {
    if (depth > maxDepth) {
      throw badWeights(
        this.#format,
        'its nesting',
        `more than ${maxDepth} levels`,
        'messages that nest less deeply',
      );
    }
    const fields = numbered(schema);
    const message: Record<string, unknown> = {};
    for (const [name, { repeated }] of fields.values()) if (repeated) message[name] = [];
    const reader = new BinaryReader(bytes);
    while (reader.pos < reader.len) {
      const [no, wireType] = reader.tag();
      const field = fields.get(no);
      if (!field) {
        reader.skip(wireType, no);
        continue;
      }
      const [name, spec] = field;
      if (!spec.repeated) message[name] = this.#value(reader, spec.kind, wireType, depth);
      else this.#append(reader, spec.kind, wireType, message[name] as unknown[], depth);
    }
    return message;
  }

  #append(
    reader: BinaryReader,
    kind: FieldSpec['kind'],
    wireType: WireType,
    items: unknown[],
    depth: number,
  ): void {
    const isList =
      typeof kind === 'string' && isPacked(kind) && wireType === WireType.LengthDelimited;
    if (!isList) {
      items.push(this.#value(reader, kind, wireType, depth));
      return;
    }
    const packed = new BinaryReader(reader.bytes());
    while (packed.pos < packed.len) items.push(this.#value(packed, kind, wireTypes[kind], depth));
  }

  #value(
    reader: BinaryReader,
    kind: FieldSpec['kind'],
    wireType: WireType,
    depth: number,
  ): unknown {
    const expected = typeof kind === 'string' ? wireTypes[kind] : WireType.LengthDelimited;
    if (wireType !== expected) {
      const given = `wire type ${wireType}`;
      throw badWeights(this.#format, 'a field', given, `wire type ${expected}`);
    }
    if (typeof kind !== 'string') return this.message(kind(), reader.bytes(), depth + 1);
    if (kind === 'int64' || kind === 'uint64') return Number(reader[kind]());
    return reader[kind]();
  }
}
