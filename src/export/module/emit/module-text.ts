import { errorFunction } from '../../../../runtime/device/cpu/core/double-functions.ts';
import { viewOf } from '../../../../runtime/device/cpu/core/host-kernels.ts';
import { functionTexts } from '../../../../runtime/device/cpu/threads/worker-functions.ts';
import { invariant } from '../../../../runtime/errors/invariant.ts';
import { dtypes } from '../../../../runtime/spec/dtype.ts';
import { isContiguous } from '../../../../runtime/spec/shape.ts';
import type { MergedCode } from '../code/merge-code.ts';
import { hostText } from '../host/host-methods.ts';
import type { ModuleMemory } from '../plan/module-memory.ts';
import { primitiveText } from './expressions.ts';
import { helpersText, instanceText } from './runner-text.ts';

/** Everything that a module's text depends on. */
interface ModuleParts {
  readonly title: string;
  readonly memory: ModuleMemory;
  /** Bytes of the parts of the memory, as stated by the module. */
  readonly bytes: Readonly<Record<string, number>>;
  readonly pages: number;
  readonly code: MergedCode;
  readonly kernels: readonly string[];
  readonly tables: readonly string[];
  readonly plans: readonly string[];
  /** Methods of `host-methods.ts` that the plans call. */
  readonly hosts: ReadonlySet<string>;
  /** The separate file with the state; null if the module contains it. */
  readonly data: string | null;
}

export const base64 = (bytes: Uint8Array): string => {
  let text = '';
  for (let i = 0; i < bytes.length; i += 0x8000) {
    text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  }
  return btoa(text);
};

function environmentText({ imports }: MergedCode): string {
  const entries = imports.map((name) => {
    const text = functionTexts[name];
    invariant(text, `${name} has no text`);
    return `${name}: ${text}`;
  });
  const needsErf = imports.some((name) => name.startsWith('erf'));
  const errors = needsErf ? `const errorFunction = ${errorFunction.toString()};\n` : '';
  return `${errors}const functions = { ${entries.join(', ')} };`;
}

function stateText({ state }: ModuleMemory): string {
  const tensors = state.flatMap((each) => {
    if (!('tensor' in each) || each.isGradient) return [];
    const { dtype, shape, strides, place } = each.tensor;
    const at = place.ptr / dtypes[dtype].bytes + place.offset;
    const stridesText = isContiguous(shape, strides) ? '' : `, strides: [${strides.join()}]`;
    const layout = `dtype: '${dtype}', shape: [${shape.join()}], view: ${viewOf[dtype]}, at: ${at}${stridesText}`;
    return [`{ name: ${JSON.stringify(each.name)}, ${layout} },`];
  });
  const values = state.map((each) => ('tensor' in each ? '{}' : primitiveText(each.value)));
  const variables = state.flatMap((each, i) =>
    'tensor' in each || each.name.endsWith('.grad') ? [] : [`[${JSON.stringify(each.name)}, ${i}]`],
  );
  return `  const values = [${values.join()}];
  const variables = [${variables.join()}];
  const state = [
${tensors.join('\n')}
  ];`;
}

const dataText = (data: string | null): string =>
  data === null
    ? `const bytes = weights ?? bytesOf(data);`
    : `const bytes = weights ?? (await fetched(new URL(${JSON.stringify(`./${data}`)}, import.meta.url)));`;

/** Reads the separate file: Node's fetch can't read files. */
const fetchText = `
async function fetched(url) {
  if (url.protocol === 'file:') {
    return new Uint8Array(process.getBuiltinModule('node:fs').readFileSync(url));
  }
  const response = await fetch(url);
  if (!response.ok) throw new ModuleError('DataError', url + ': status ' + response.status);
  return new Uint8Array(await response.arrayBuffer());
}`;

/** The text of a module: an ES module without imports. */
export function moduleText(parts: ModuleParts): string {
  const { title, memory, bytes, pages, code, kernels, tables, plans, hosts, data } = parts;
  const stateEnd = memory.stateAt + memory.stateBytes.length;
  const host = hosts.size > 0 ? hostText(hosts) : '';
  const hostObject = `  const reject = ({ what, given, expected }) => {
    throw new ModuleError('ArgumentError', what + ': given ' + given + ', expected ' + expected);
  };
  const host = { f32, f64, i32, u16, u8, math: Math, reject,
${host}
  };`;
  return `// ${title.replace(/[^\w .-]/g, '_')}
${helpersText}
${environmentText(code)}
const code = '${base64(code.code)}';
${data === null ? `const data = '${base64(memory.stateBytes)}';` : fetchText}
let compiled;

/** Bytes of an instance's memory: \`total\` is what it takes from the system. */
export const memory = ${JSON.stringify(bytes)};

export async function instantiate({ seed: given, weights } = {}) {
  let seed = given ?? 0;
  let offset = 0;
  compiled ??= WebAssembly.compile(bytesOf(code));
  ${dataText(data)}
  if (bytes.length !== ${memory.stateBytes.length}) {
    throw new ModuleError('DataError', 'weights: ' + bytes.length + ' bytes, not ${memory.stateBytes.length}');
  }
  const heap = new WebAssembly.Memory({ initial: ${pages}, maximum: ${pages} });
  const env = { ...functions, memory: heap };
  const { exports } = await WebAssembly.instantiate(await compiled, { env });
  const [f32, f64, i32, u16, u8] = [Float32Array, Float64Array, Int32Array, Uint16Array, Uint8Array].map(
    (View) => new View(heap.buffer),
  );
  u8.set(bytes, ${memory.stateAt}); // up to ${stateEnd}
${stateText(memory)}
${host ? hostObject : ''}
${kernels.map((name) => `  const k${name} = exports[${name}];`).join('\n')}
${tables.join('\n')}
  const plans = [];
${plans.join('\n')}
${instanceText}
}
`;
}
