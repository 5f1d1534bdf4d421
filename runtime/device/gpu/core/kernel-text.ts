/** The text of a gpu.js kernel. Equal keys mean equal kernels. */
export interface KernelText {
  /** `function(a0,o0){…}`; arrays first, then numbers. */
  readonly source: string;
  /** The number of invocations. */
  readonly threads: number;
  readonly arrays: number;
  readonly scalars: number;
  /** Where thread `i` stores; null for element `i`. */
  readonly layout: StoreLayout | null;
  /** The argument that is added to every store index. */
  readonly storeOffset: string | null;
  /** Arrays that are the output buffer itself: WebGPU can't bind a buffer for both reading and writing. */
  readonly aliases: readonly number[];
}

/** The elements of a buffer that a kernel's threads write, as nested loops from the outermost. */
export interface StoreLayout {
  readonly loops: readonly { readonly size: number; readonly stride: number }[];
  /** The first thread's element. */
  readonly base: number;
}

export function keyOf({ source, threads, layout, aliases }: KernelText): string {
  const store = layout ? JSON.stringify(layout) : '';
  return `${threads}|${aliases.join(',')}|${store}|${source}`;
}
