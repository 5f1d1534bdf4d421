import { type ElementType, type Packing, packingOf, valueTypeOf } from './element-type.ts';

/** The operands of a kernel, and the storage buffers they are in. */
export interface Bound {
  /** The index of each operand's storage buffer. */
  readonly bindings: readonly number[];
  /** Whether the kernel writes each storage buffer. */
  readonly written: readonly boolean[];
  /** Whether each storage buffer is declared writable, which WebGPU also requires next to a written part. */
  readonly writable: readonly boolean[];
  /** The element type of each operand. */
  readonly types: readonly ElementType[];
  /** See `WgslWriter.lanes`. */
  readonly lanes: number;
  /** Whether each word of packed elements is written by one thread, in element order. */
  readonly ownsWords: boolean;
}

/** The element type of a buffer's array. */
type ArrayType = 'f32' | 'i32' | 'u32' | 'atomic<u32>';

/**
 * Reads and writes elements of storage buffers. If a buffer's operands share one word-sized type, it is an array
 * of that type, otherwise an array of words. Elements that share a word are collected by the thread that owns the
 * word, or written by atomic operations that change only the element's bits, because other threads may write
 * adjacent elements.
 */
export class Buffers {
  readonly #bound: Bound;
  readonly #arrays: readonly ArrayType[];
  /** Functions for packed elements, by name. */
  readonly #functions = new Map<string, string>();

  constructor(bound: Bound) {
    this.#bound = bound;
    const { bindings, written, types } = bound;
    this.#arrays = written.map((isWritten, buffer) => {
      const boundTypes = new Set(types.filter((_, operand) => bindings[operand] === buffer));
      return arrayTypeOf(boundTypes, isWritten && !bound.ownsWords);
    });
  }

  get written(): readonly boolean[] {
    return this.#bound.written;
  }

  get writable(): readonly boolean[] {
    return this.#bound.writable;
  }

  /** Whether threads of the kernel write elements of one word. */
  get isAtomic(): boolean {
    return this.#arrays.includes('atomic<u32>');
  }

  /** The declarations of the buffers, from binding 1 on. */
  get declarations(): readonly string[] {
    return this.#bound.writable.map((isWritable, i) => {
      const access = isWritable ? 'read_write' : 'read';
      return `@group(0) @binding(${i + 1}) var<storage, ${access}> b${i} : array<${this.#arrays[i]!}>;`;
    });
  }

  get functions(): readonly string[] {
    return [...this.#functions.values()];
  }

  /** Returns the value of an operand's element; `index` is relative to the start of its buffer. */
  load(operand: number, index: string): string {
    const { buffer, array, type } = this.#memoryOf(operand);
    const packing = packingOf(type);
    if (!packing) return cast(valueTypeOf(type), wordType(array), this.#word(buffer, array, index));
    const name = `load_${buffer}_${type}`;
    this.#functions.set(
      name,
      loadFunction(name, packing, (at) => this.#word(buffer, array, at)),
    );
    return `${name}(${index})`;
  }

  /** Returns the statement that stores an element's value. */
  store(operand: number, index: string, value: string): string {
    const { buffer, array, type } = this.#memoryOf(operand);
    const packing = packingOf(type);
    if (!packing) {
      const word = cast(wordType(array), valueTypeOf(type), value);
      const isAtomic = array === 'atomic<u32>';
      return isAtomic
        ? `atomicStore(&${buffer}[${index}], ${word});`
        : `${buffer}[${index}] = ${word};`;
    }
    const name = `store_${buffer}_${type}`;
    if (this.#bound.ownsWords) {
      this.#functions.set(name, collectFunction(name, packing, buffer));
      const word = collectedWord(operand);
      return `${word} = ${name}(${word}, ${index}, ${value}, isLast);`;
    }
    this.#functions.set(name, storeFunction(name, packing, buffer));
    return `${name}(${index}, ${value});`;
  }

  /** Returns declarations of the words in which a thread that owns words collects these operands' elements. */
  collectors(operands: readonly number[]): readonly string[] {
    return operands.map((operand) => `var ${collectedWord(operand)} = 0u;`);
  }

  #word(buffer: string, array: ArrayType, index: string): string {
    return array === 'atomic<u32>' ? `atomicLoad(&${buffer}[${index}])` : `${buffer}[${index}]`;
  }

  #memoryOf(operand: number) {
    const binding = this.#bound.bindings[operand]!;
    const type = this.#bound.types[operand]!;
    return { buffer: `b${binding}`, array: this.#arrays[binding]!, type };
  }
}

function arrayTypeOf(types: ReadonlySet<ElementType>, isShared: boolean): ArrayType {
  const [only] = types;
  const arePacked = [...types].some((type) => packingOf(type));
  if (arePacked) return isShared ? 'atomic<u32>' : 'u32';
  return types.size === 1 ? valueTypeOf(only!) : 'u32';
}

const wordType = (array: ArrayType) => (array === 'atomic<u32>' ? 'u32' : array);

/** Reinterprets the bits of a value of one type as another. */
function cast(to: string, from: string, value: string): string {
  return to === from ? value : `bitcast<${to}>(${value})`;
}

/** Returns the index of an element's word, and its first bit there. */
function placeText({ bits, perWord }: Packing) {
  const word = `i >> ${Math.log2(perWord)}u`;
  return {
    word,
    shift: `(i & ${perWord - 1}u) * ${bits}u`,
    mask: bits === 8 ? '0xffu' : '0xffffu',
  };
}

function loadFunction(name: string, packing: Packing, wordAt: (index: string) => string): string {
  const { word, shift, mask } = placeText(packing);
  const bits = `((${wordAt(word)} >> (${shift})) & ${mask})`;
  return `fn ${name}(i : u32) -> ${packing.value} { return ${packing.decode(bits)}; }`;
}

const collectedWord = (operand: number) => `word${operand}`;

/**
 * Adds an element to the word that a thread collects. Returns the word, or 0 once it is stored: with the word's
 * last element, or with the thread's last one, keeping the elements after it.
 */
function collectFunction(name: string, packing: Packing, buffer: string): string {
  const { word, shift } = placeText(packing);
  const { perWord, bits } = packing;
  const kept = `~0u << (((i & ${perWord - 1}u) + 1u) * ${bits}u)`;
  return `fn ${name}(collected : u32, i : u32, value : ${packing.value}, isLast : bool) -> u32 {
  let bits = collected | (${packing.encode('value')} << (${shift}));
  if ((i & ${perWord - 1}u) == ${perWord - 1}u) {
    ${buffer}[${word}] = bits;
    return 0u;
  }
  if (isLast) { ${buffer}[${word}] = (${buffer}[${word}] & (${kept})) | bits; }
  return bits;
}`;
}

/** No other thread changes the element, so its old bits are known, and differing bits are flipped. */
function storeFunction(name: string, packing: Packing, buffer: string): string {
  const { word, shift, mask } = placeText(packing);
  return `fn ${name}(i : u32, value : ${packing.value}) {
  let shift = ${shift};
  let bits = ${packing.encode('value')} << shift;
  let old = atomicLoad(&${buffer}[${word}]);
  atomicXor(&${buffer}[${word}], (old ^ bits) & (${mask} << shift));
}`;
}
