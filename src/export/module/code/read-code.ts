/** Reads WebAssembly modules as encoded by the CPU's generator. */

import { invariant } from '../../../../runtime/errors/invariant.ts';

/** One function of a module. */
interface CodeFunction {
  readonly name: string;
  /** Encoded parameters and results. */
  readonly type: string;
  /** Locals and instructions. */
  readonly body: Uint8Array;
}

export interface ReadCode {
  /** Functions in JavaScript, by name; each with its encoded type, or null if no function calls it. */
  readonly imports: readonly (readonly [name: string, type: string | null])[];
  readonly functions: readonly CodeFunction[];
}

/** Reads bytes in sequence. */
export class ByteReader {
  readonly bytes: Uint8Array;
  at: number;

  constructor(bytes: Uint8Array, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  get isAtEnd(): boolean {
    return this.at >= this.bytes.length;
  }

  byte(): number {
    return this.bytes[this.at++]!;
  }

  unsigned(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.byte();
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  }

  take(count: number): Uint8Array {
    this.at += count;
    return this.bytes.subarray(this.at - count, this.at);
  }

  text(): string {
    return new TextDecoder().decode(this.take(this.unsigned()));
  }

  vector<T>(item: () => T): T[] {
    return Array.from({ length: this.unsigned() }, item);
  }
}

function sectionsOf(code: Uint8Array): ReadonlyMap<number, ByteReader> {
  const sections = new Map<number, ByteReader>();
  const reader = new ByteReader(code, 8);
  while (!reader.isAtEnd) {
    const id = reader.byte();
    sections.set(id, new ByteReader(reader.take(reader.unsigned())));
  }
  return sections;
}

const exportsOf = (reader: ByteReader | undefined): string[] =>
  reader?.vector(() => {
    const name = reader.text();
    reader.byte();
    reader.unsigned();
    return name;
  }) ?? [];

/** Returns the functions that a module exports: all of its functions, in order. */
export function exportedNames(code: Uint8Array): readonly string[] {
  return exportsOf(sectionsOf(code).get(7));
}

const known = new WeakMap<Uint8Array, ReadCode>();

export function readCode(code: Uint8Array): ReadCode {
  const before = known.get(code);
  if (before) return before;
  const sections = sectionsOf(code);
  const section = (id: number): ByteReader => {
    const found = sections.get(id);
    invariant(found, `a module without section ${id}`);
    return found;
  };
  const typeReader = section(1);
  const types = typeReader.vector(() => {
    const start = typeReader.at;
    typeReader.byte();
    for (let i = 0; i < 2; i++) typeReader.take(typeReader.unsigned());
    return Array.from(typeReader.bytes.subarray(start, typeReader.at)).join();
  });
  const importReader = section(2);
  const imports = importReader.vector(() => {
    importReader.text();
    const name = importReader.text();
    const kind = importReader.byte();
    if (kind === 0) {
      // The generator gives functions without callers a separate type: the first.
      const type = importReader.unsigned();
      return [[name, type === 0 ? null : types[type]!] as const];
    }
    if (kind === 2) {
      const flags = importReader.byte();
      importReader.unsigned();
      if (flags & 1) importReader.unsigned();
    } else importReader.take(2);
    return [];
  });
  const typed = section(3);
  const typeNumbers = typed.vector(() => typed.unsigned());
  const names = exportsOf(section(7));
  const codeReader = section(10);
  const bodies = codeReader.vector(() => codeReader.take(codeReader.unsigned()));
  const read = {
    imports: imports.flat(),
    functions: bodies.map((body, i) => ({ name: names[i]!, type: types[typeNumbers[i]!]!, body })),
  };
  known.set(code, read);
  return read;
}
