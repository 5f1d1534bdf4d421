interface BuiltinModules {
  'node:crypto': typeof import('node:crypto');
  'node:fs': typeof import('node:fs');
  'node:inspector': typeof import('node:inspector');
  'node:path': typeof import('node:path');
  'node:url': typeof import('node:url');
  'node:util': typeof import('node:util');
}

/**
 * Returns a Node module; undefined if there is none. Loaded at run time, since a static import would keep this
 * file from loading in a browser.
 */
export function builtinModule<K extends keyof BuiltinModules>(
  id: K,
): BuiltinModules[K] | undefined {
  try {
    return globalThis.process?.getBuiltinModule?.(id) as BuiltinModules[K] | undefined;
  } catch {
    return undefined; // a Node built without the inspector throws
  }
}
