import { badWeights, shown } from './bad-file.ts';

/** A class or function that a pickle names; only those of an allowed list are ever built. */
export class PickleGlobal {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** A tuple of Python; lists are arrays, dictionaries are Maps, sets are Sets. */
export class PickleTuple {
  readonly items: readonly unknown[];

  constructor(items: readonly unknown[]) {
    this.items = items;
  }
}

/** Objects that a pickle may build beside containers and numbers. */
export interface PickleWorld {
  /** Names of the classes and functions that may occur, `module.name`. */
  isAllowed(name: string): boolean;
  /** The result of calling one of them. Throws DataError. */
  call(name: string, args: readonly unknown[]): unknown;
  /** Resolves a persistent id. Throws DataError. */
  persistent(id: unknown): unknown;
}

export interface Unpickled {
  readonly value: unknown;
  /** Where the next pickle begins. */
  readonly end: number;
}

const format = 'pickle';
const mark = Symbol('mark');

/**
 * Reads one pickle, protocols 0 to 5 as far as data needs them. It runs nothing: a call of anything but the
 * allowed names is a DataError, and so is every opcode that builds other objects.
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
      handler.call(this);
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

  /** State of an object: of ordered dictionaries there is some, `_metadata`, and nothing needs it. */
  #build(): void {
    this.#pop();
    const target = this.#peek();
    if (!(target instanceof Map)) this.fail(kindOf(target), 'an ordered dictionary');
  }

  #long(length: number): void {
    // Numbers of state dictionaries are small; a long one takes quadratic time.
    if (length > 64) this.fail(`an integer of ${length} bytes`, 'at most 64');
    let value = 0n;
    const at = this.#take(length);
    for (let i = length - 1; i >= 0; i--) value = (value << 8n) | BigInt(this.#bytes[at + i]!);
    if (length > 0) value = BigInt.asIntN(8 * length, value);
    const number = Number(value);
    this.#stack.push(Number.isSafeInteger(number) ? number : value);
  }

  static readonly table: readonly (readonly [number, (this: Unpickler) => void])[] = [
    [
      0x80,
      function () {
        this.#u8();
      },
    ], // PROTO
    [
      0x95,
      function () {
        this.#u64();
      },
    ], // FRAME
    [
      0x28,
      function () {
        this.#stack.push(mark);
      },
    ], // MARK
    [
      0x30,
      function () {
        this.#stack.pop();
      },
    ], // POP
    [
      0x31,
      function () {
        this.#popToMark();
      },
    ], // POP_MARK
    [
      0x32,
      function () {
        this.#stack.push(this.#peek());
      },
    ], // DUP
    [
      0x4e,
      function () {
        this.#stack.push(null);
      },
    ], // NONE
    [
      0x88,
      function () {
        this.#stack.push(true);
      },
    ], // NEWTRUE
    [
      0x89,
      function () {
        this.#stack.push(false);
      },
    ], // NEWFALSE
    [
      0x4b,
      function () {
        this.#stack.push(this.#u8());
      },
    ], // BININT1
    [
      0x4d,
      function () {
        this.#stack.push(this.#u16());
      },
    ], // BININT2
    [
      0x4a,
      function () {
        this.#stack.push(this.#view.getInt32(this.#take(4), true));
      },
    ], // BININT
    [
      0x8a,
      function () {
        this.#long(this.#u8());
      },
    ], // LONG1
    [
      0x8b,
      function () {
        this.#long(this.#u32());
      },
    ], // LONG4
    [
      0x47,
      function () {
        this.#stack.push(this.#view.getFloat64(this.#take(8)));
      },
    ], // BINFLOAT
    [
      0x8c,
      function () {
        this.#stack.push(this.#text(this.#u8()));
      },
    ], // SHORT_BINUNICODE
    [
      0x58,
      function () {
        this.#stack.push(this.#text(this.#u32()));
      },
    ], // BINUNICODE
    [
      0x8d,
      function () {
        this.#stack.push(this.#text(this.#u64()));
      },
    ], // BINUNICODE8
    [
      0x55,
      function () {
        this.#stack.push(this.#text(this.#u8()));
      },
    ], // SHORT_BINSTRING
    [
      0x5d,
      function () {
        this.#stack.push([]);
      },
    ], // EMPTY_LIST
    [
      0x6c,
      function () {
        this.#stack.push(this.#popToMark());
      },
    ], // LIST
    [
      0x61,
      function () {
        this.#appendTo([this.#pop()]);
      },
    ], // APPEND
    [
      0x65,
      function () {
        this.#appendTo(this.#popToMark());
      },
    ], // APPENDS
    [
      0x29,
      function () {
        this.#tuple(0);
      },
    ], // EMPTY_TUPLE
    [
      0x85,
      function () {
        this.#tuple(1);
      },
    ], // TUPLE1
    [
      0x86,
      function () {
        this.#tuple(2);
      },
    ], // TUPLE2
    [
      0x87,
      function () {
        this.#tuple(3);
      },
    ], // TUPLE3
    [
      0x74,
      function () {
        this.#stack.push(new PickleTuple(this.#popToMark()));
      },
    ], // TUPLE
    [
      0x7d,
      function () {
        this.#stack.push(new Map());
      },
    ], // EMPTY_DICT
    [
      0x64,
      function () {
        this.#dict(this.#popToMark());
      },
    ], // DICT
    [
      0x73,
      function () {
        const value = this.#pop();
        this.#setIn([this.#pop(), value]);
      },
    ], // SETITEM
    [
      0x75,
      function () {
        this.#setIn(this.#popToMark());
      },
    ], // SETITEMS
    [
      0x8f,
      function () {
        this.#stack.push(new Set());
      },
    ], // EMPTY_SET
    [
      0x90,
      function () {
        this.#addTo(this.#popToMark());
      },
    ], // ADDITEMS
    [
      0x71,
      function () {
        this.#memo.set(this.#u8(), this.#peek());
      },
    ], // BINPUT
    [
      0x72,
      function () {
        this.#memo.set(this.#u32(), this.#peek());
      },
    ], // LONG_BINPUT
    [
      0x94,
      function () {
        this.#memo.set(this.#memo.size, this.#peek());
      },
    ], // MEMOIZE
    [
      0x68,
      function () {
        this.#get(this.#u8());
      },
    ], // BINGET
    [
      0x6a,
      function () {
        this.#get(this.#u32());
      },
    ], // LONG_BINGET
    [
      0x63,
      function () {
        const module = this.#line();
        this.#global(module, this.#line());
      },
    ], // GLOBAL
    [
      0x93,
      function () {
        const name = this.#pop();
        this.#global(this.#pop(), name);
      },
    ], // STACK_GLOBAL
    [
      0x52,
      function () {
        this.#reduce();
      },
    ], // REDUCE
    [
      0x62,
      function () {
        this.#build();
      },
    ], // BUILD
    [
      0x51,
      function () {
        this.#stack.push(this.#world.persistent(this.#pop()));
      },
    ], // BINPERSID
  ];

  #addTo(items: readonly unknown[]): void {
    const set = this.#peek();
    if (!(set instanceof Set)) this.fail(kindOf(set), 'a set');
    for (const item of items) set.add(item);
  }
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
