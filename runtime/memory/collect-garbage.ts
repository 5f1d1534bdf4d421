/** Triggers the engine's garbage collector, where that is possible. */

type Collect = () => void;

interface NodeModules {
  getBuiltinModule?(name: 'node:v8'): { setFlagsFromString(flags: string): void };
  getBuiltinModule?(name: 'node:vm'): { runInNewContext(code: string): unknown };
}

let found: Collect | null | undefined;

/** Runs a full collection. Returns false if there is no way to trigger it: in pages, or if Node rejects the flag. */
export function collectGarbage(): boolean {
  found ??= find();
  found?.();
  return found !== null;
}

function find(): Collect | null {
  const { gc, process } = globalThis as { gc?: unknown; process?: NodeModules };
  if (typeof gc === 'function') return gc as Collect;
  try {
    const v8 = process?.getBuiltinModule?.('node:v8');
    const vm = process?.getBuiltinModule?.('node:vm');
    // The flag applies to contexts created afterwards.
    v8?.setFlagsFromString('--expose-gc');
    const exposed = vm?.runInNewContext('globalThis.gc');
    return typeof exposed === 'function' ? (exposed as Collect) : null;
  } catch {
    return null;
  }
}
