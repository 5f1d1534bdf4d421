/** Compiled kernels by text. If there are too many, the least recently used kernel is destroyed. */
export class KernelCache<Text, Kernel> {
  readonly #capacity: number;
  readonly #compile: (text: Text) => Kernel;
  /** May be called while previously issued work still needs the kernel. */
  readonly #destroy: (kernel: Kernel) => void;
  /** In the order of last use. */
  readonly #kernels = new Map<string, Kernel>();
  #compiled = 0;

  constructor(
    capacity: number,
    compile: (text: Text) => Kernel,
    destroy: (kernel: Kernel) => void,
  ) {
    this.#capacity = capacity;
    this.#compile = compile;
    this.#destroy = destroy;
  }

  get size(): number {
    return this.#kernels.size;
  }

  /** The number of compilations since the device was opened. */
  get compiled(): number {
    return this.#compiled;
  }

  get(key: string, text: Text): Kernel {
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

  #add(text: Text): Kernel {
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
