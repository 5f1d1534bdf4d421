import type { CompiledKernel, KernelText } from './gpujs.ts';

/** Compiled kernels by their text, the least recently used one destroyed when there are too many. */
export class KernelCache {
  readonly #capacity: number;
  readonly #compile: (text: KernelText) => CompiledKernel;
  /** Called when work issued earlier may still need the kernel. */
  readonly #destroy: (kernel: CompiledKernel) => void;
  /** In the order of last use. */
  readonly #kernels = new Map<string, CompiledKernel>();
  #compiled = 0;

  constructor(
    capacity: number,
    compile: (text: KernelText) => CompiledKernel,
    destroy: (kernel: CompiledKernel) => void,
  ) {
    this.#capacity = capacity;
    this.#compile = compile;
    this.#destroy = destroy;
  }

  get size(): number {
    return this.#kernels.size;
  }

  /** Number of compilations since the start. */
  get compiled(): number {
    return this.#compiled;
  }

  get(key: string, text: KernelText): CompiledKernel {
    let kernel = this.#kernels.get(key);
    if (kernel) this.#kernels.delete(key);
    else kernel = this.#add(text);
    this.#kernels.set(key, kernel);
    return kernel;
  }

  clear(): void {
    for (const kernel of this.#kernels.values()) this.#destroy(kernel);
    this.#kernels.clear();
  }

  #add(text: KernelText): CompiledKernel {
    const kernel = this.#compile(text);
    this.#compiled++;
    if (this.#kernels.size >= this.#capacity) {
      const [oldest, victim] = this.#kernels.entries().next().value!;
      this.#kernels.delete(oldest);
      this.#destroy(victim);
    }
    return kernel;
  }
}

export function keyOf({ source, threads, store, aliases }: KernelText): string {
  return `${threads}|${aliases.join(',')}|${store ?? ''}|${source}`;
}
