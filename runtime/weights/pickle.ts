import { badWeights, shown } from './bad-file.ts';

/** A class or function named by a pickle; only allowed ones are ever called. */
export class PickleGlobal {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** A Python tuple; lists become arrays, dictionaries Maps, sets Sets. */
export class PickleTuple {
  readonly items: readonly unknown[];

  constructor(items: readonly unknown[]) {
    this.items = items;
  }
}

/** The objects that a pickle may build besides containers and numbers. */
export interface PickleWorld {
  /** Whether a class or function, `module.name`, is allowed. */
  isAllowed(name: string): boolean;
  /** Returns the result of calling it. Throws DataError. */
  call(name: string, args: readonly unknown[]): unknown;
  /** Resolves a persistent id. Throws DataError. */
  persistent(id: unknown): unknown;
}

interface Unpickled {
  readonly value: unknown;
  /** The offset of the next pickle. */
  readonly end: number;
}

const format = 'pickle';
const mark = Symbol('mark');

/**
 * Reads one pickle: the opcodes of protocols 0 to 5 that data needs. Runs no code: throws DataError for a call of a
 * name that isn't allowed, and for any opcode that builds other objects.
 */
export function unpickle(bytes: Uint8Array, world: PickleWorld, at = 0): Unpickled {
  return new Unpickler(bytes, world, at).run();
}

class Unpickler {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #world: PickleWorld;
  readonly #stack: unknown[] = [];
  readonly #memo = new Map<number, unknown>();
  #at: number;

  constructor(bytes: Uint8Array, world: PickleWorld, at: number) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#world = world;
    this.#at = at;
  }

  run(): Unpickled {
    while (true) {
      const at = this.#at;
      const opcode = this.#u8();
      if (opcode === stop) return { value: this.#pop(), end: this.#at };
      const handler = handlers.get(opcode);
      if (!handler) {
        const found = `opcode 0x${opcode.toString(16)}`;
        throw badWeights(format, `byte ${at}`, found, 'tensors, containers and numbers only');
      }
      handler(this);
    }
  }

  fail(given: string, expected: string): never {
    throw badWeights(format, `byte ${this.#at}`, given, expected);
  }

  #take(length: number): number {
    const at = this.#at;
    if (length > this.#bytes.length - at) {
      this.fail(`${this.#bytes.length - at} more bytes`, `${length}`);
    }
    this.#at += length;
    return at;
  }

  #u8(): number {
    return this.#bytes[this.#take(1)]!;
  }

  #u16(): number {
    return this.#view.getUint16(this.#take(2), true);
  }

  #u32(): number {
    return this.#view.getUint32(this.#take(4), true);
  }

  #u64(): number {
    const value = this.#view.getBigUint64(this.#take(8), true);
    return value > BigInt(this.#bytes.length)
      ? this.fail(`length ${value}`, 'a length')
      : Number(value);
  }

  #text(length: number): string {
    const at = this.#take(length);
    return new TextDecoder().decode(this.#bytes.subarray(at, at + length));
  }

  #line(): string {
    const end = this.#bytes.indexOf(0x0a, this.#at);
    if (end < 0) this.fail('no end of the line', 'a line');
    const text = this.#text(end - this.#at);
    this.#at++;
    return text;
  }

  #pop(): unknown {
    const top = this.#stack.pop();
    return top === undefined || top === mark ? this.fail('an empty stack', 'a value') : top;
  }

  #peek(): unknown {
    const top = this.#stack.at(-1);
    return top === undefined || top === mark ? this.fail('an empty stack', 'a value') : top;
  }

  #popToMark(): unknown[] {
    const from = this.#stack.lastIndexOf(mark);
    if (from < 0) this.fail('no mark', 'a mark on the stack');
    const items = this.#stack.splice(from);
    items.shift();
    return items;
  }

  #tuple(length: number): void {
    const items = Array.from({ length }, () => this.#pop()).reverse();
    this.#stack.push(new PickleTuple(items));
  }

  #appendTo(items: readonly unknown[]): void {
    const list = this.#peek();
    if (!Array.isArray(list)) this.fail(kindOf(list), 'a list');
    for (const item of items) list.push(item);
  }

  #setIn(items: readonly unknown[]): void {
    const dict = this.#peek();
    if (!(dict instanceof Map) || items.length % 2 !== 0) this.fail(kindOf(dict), 'a dictionary');
    for (let i = 0; i < items.length; i += 2) dict.set(items[i], items[i + 1]);
  }

  #dict(items: readonly unknown[]): void {
    this.#stack.push(new Map());
    this.#setIn(items);
  }

  #get(index: number): void {
    if (!this.#memo.has(index)) this.fail(`memo ${index}`, 'a place that was written');
    this.#stack.push(this.#memo.get(index));
  }

  #global(module: unknown, name: unknown): void {
    const full = `${String(module)}.${String(name)}`;
    if (!this.#world.isAllowed(full)) {
      this.fail(shown(full), 'tensors, storages and containers: nothing else of a pickle is built');
    }
    this.#stack.push(new PickleGlobal(full));
  }

  #reduce(): void {
    const args = this.#pop();
    const callee = this.#pop();
    if (!(callee instanceof PickleGlobal) || !(args instanceof PickleTuple)) {
      this.fail(kindOf(callee), 'a class or function with its arguments');
    }
    this.#stack.push(this.#world.call(callee.name, args.items));
  }

  /** Drops an object's state; ordered dictionaries have an unneeded `_metadata`. */
  #build(): void {
    this.#pop();
    const target = this.#peek();
    if (!(target instanceof Map)) this.fail(kindOf(target), 'an ordered dictionary');
  }

  #long(length: number): void {
    // Numbers in state dictionaries are small; decoding a long one takes quadratic time.
    if (length > 64) this.fail(`an integer of ${length} bytes`, 'at most 64');
    let value = 0n;
    const at = this.#take(length);
    for (let i = length - 1; i >= 0; i--) value = (value << 8n) | BigInt(this.#bytes[at + i]!);
    if (length > 0) value = BigInt.asIntN(8 * length, value);
    const number = Number(value);
    this.#stack.push(Number.isSafeInteger(number) ? number : value);
  }

  #addTo(items: readonly unknown[]): void {
    const set = this.#peek();
    if (!(set instanceof Set)) this.fail(kindOf(set), 'a set');
    for (const item of items) set.add(item);
  }

  static readonly table: readonly (readonly [number, (from: Unpickler) => void])[] = [
    [0x80, (from) => from.#u8()], // PROTO
    [0x95, (from) => from.#u64()], // FRAME
    [0x28, (from) => from.#stack.push(mark)], // MARK
    [0x30, (from) => from.#stack.pop()], // POP
    [0x31, (from) => from.#popToMark()], // POP_MARK
    [0x32, (from) => from.#stack.push(from.#peek())], // DUP
    [0x4e, (from) => from.#stack.push(null)], // NONE
    [0x88, (from) => from.#stack.push(true)], // NEWTRUE
    [0x89, (from) => from.#stack.push(false)], // NEWFALSE
    [0x4b, (from) => from.#stack.push(from.#u8())], // BININT1
    [0x4d, (from) => from.#stack.push(from.#u16())], // BININT2
    [0x4a, (from) => from.#stack.push(from.#view.getInt32(from.#take(4), true))], // BININT
    [0x8a, (from) => from.#long(from.#u8())], // LONG1
    [0x8b, (from) => from.#long(from.#u32())], // LONG4
    [0x47, (from) => from.#stack.push(from.#view.getFloat64(from.#take(8)))], // BINFLOAT
    [0x8c, (from) => from.#stack.push(from.#text(from.#u8()))], // SHORT_BINUNICODE
    [0x58, (from) => from.#stack.push(from.#text(from.#u32()))], // BINUNICODE
    [0x8d, (from) => from.#stack.push(from.#text(from.#u64()))], // BINUNICODE8
    [0x55, (from) => from.#stack.push(from.#text(from.#u8()))], // SHORT_BINSTRING
    [0x5d, (from) => from.#stack.push([])], // EMPTY_LIST
    [0x6c, (from) => from.#stack.push(from.#popToMark())], // LIST
    [0x61, (from) => from.#appendTo([from.#pop()])], // APPEND
    [0x65, (from) => from.#appendTo(from.#popToMark())], // APPENDS
    [0x29, (from) => from.#tuple(0)], // EMPTY_TUPLE
    [0x85, (from) => from.#tuple(1)], // TUPLE1
    [0x86, (from) => from.#tuple(2)], // TUPLE2
    [0x87, (from) => from.#tuple(3)], // TUPLE3
    [0x74, (from) => from.#stack.push(new PickleTuple(from.#popToMark()))], // TUPLE
    [0x7d, (from) => from.#stack.push(new Map())], // EMPTY_DICT
    [0x64, (from) => from.#dict(from.#popToMark())], // DICT
    // SETITEM
    [
      0x73,
      (from) => {
        const value = from.#pop();
        from.#setIn([from.#pop(), value]);
      },
    ],
    [0x75, (from) => from.#setIn(from.#popToMark())], // SETITEMS
    [0x8f, (from) => from.#stack.push(new Set())], // EMPTY_SET
    [0x90, (from) => from.#addTo(from.#popToMark())], // ADDITEMS
    [0x71, (from) => from.#memo.set(from.#u8(), from.#peek())], // BINPUT
    [0x72, (from) => from.#memo.set(from.#u32(), from.#peek())], // LONG_BINPUT
    [0x94, (from) => from.#memo.set(from.#memo.size, from.#peek())], // MEMOIZE
    [0x68, (from) => from.#get(from.#u8())], // BINGET
    [0x6a, (from) => from.#get(from.#u32())], // LONG_BINGET
    // GLOBAL
    [
      0x63,
      (from) => {
        const module = from.#line();
        from.#global(module, from.#line());
      },
    ],
    // STACK_GLOBAL
    [
      0x93,
      (from) => {
        const name = from.#pop();
        from.#global(from.#pop(), name);
      },
    ],
    [0x52, (from) => from.#reduce()], // REDUCE
    [0x62, (from) => from.#build()], // BUILD
    [0x51, (from) => from.#stack.push(from.#world.persistent(from.#pop()))], // BINPERSID
  ];
}

const stop = 0x2e;
const handlers = new Map(Unpickler.table);

function kindOf(value: unknown): string {
  if (value instanceof PickleGlobal) return value.name;
  if (Array.isArray(value)) return 'a list';
  if (value instanceof Map) return 'a dictionary';
  if (value instanceof PickleTuple) return 'a tuple';
  return value === null ? 'None' : typeof value;
}
