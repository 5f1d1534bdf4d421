/** Modules of tests, as a program imports them. */

export interface ModuleTensor {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data: ArrayBufferView & ArrayLike<number>;
}

export interface Instance {
  run(...args: unknown[]): unknown;
  state(): Record<string, ModuleTensor>;
  variables(): Record<string, unknown>;
  loadState(values: Record<string, unknown>): void;
  seed(value: number): void;
}

export interface ImportedModule {
  readonly memory: Readonly<Record<string, number>>;
  instantiate(options?: { seed?: number; weights?: Uint8Array }): Promise<Instance>;
}

export const imported = (text: string): Promise<ImportedModule> =>
  import(/* @vite-ignore */ `data:text/javascript;base64,${Buffer.from(text).toString('base64')}`);

export const instanceOf = async (text: string): Promise<Instance> =>
  (await imported(text)).instantiate();
