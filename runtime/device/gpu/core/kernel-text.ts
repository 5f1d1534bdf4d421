/** A kernel for gpu.js, as text. Equal keys are equal kernels. */
export interface KernelText {
  /** `function(a0,o0){…}`; arrays first, then numbers. */
  readonly source: string;
  /** Number of invocations. */
  readonly threads: number;
  readonly arrays: number;
  readonly scalars: number;
  /** Where thread `i` stores; null for element `i`. */
  readonly layout: StoreLayout | null;
  /** The number that is added to every index of the store. */
  readonly storeOffset: string | null;
  /** Arrays that are the output buffer itself: WebGPU binds no buffer both to read and to write. */
  readonly aliases: readonly number[];
}

/** Elements of a buffer that the threads of a kernel write, in the order of nested loops from the outermost. */
export interface StoreLayout {
  readonly loops: readonly { readonly size: number; readonly stride: number }[];
  /** The first thread's element. */
  readonly base: number;
}

export function keyOf({ source, threads, layout, aliases }: KernelText): string {
  const store = layout ? JSON.stringify(layout) : '';
  return `${threads}|${aliases.join(',')}|${store}|${source}`;
}
