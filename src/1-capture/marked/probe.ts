/**
 * State shared by instrumented modules and captures. The build plugin imports this file into every module that it
 * instruments (`tostatic/probe`), so it has no dependencies. The object is stored under a global symbol: a page
 * may contain two copies of this file, but has a single probe.
 */

/** A module as it was before the build plugin inserted probes. */
export interface EmbeddedSource {
  readonly file: string;
  /** If missing, it is in `own-texts.ts`. */
  readonly text?: ModuleText;
}

export interface ModuleText {
  readonly code: string;
  /** The source map from `code` to the user's source, if they differ. */
  readonly map?: string;
  /** True if the code is sloppy by default, unlike an ES module. */
  readonly commonJs?: boolean;
}

/**
 * Getters for a function's outer variables, and setters for those that it assigns. For private names, under
 * `#name`: functions that read, test (`in`) and, if possible, write it.
 */
export type ScopeTable = object;

export type PrivateFunctions = readonly [
  read: (object: object) => unknown,
  test: (object: object) => boolean,
  write?: (object: object, value: unknown) => void,
];

export interface Probe {
  /** True only while a capture calls a function to get its scope. The name is the marker. */
  $tostatic: boolean;
  /**
   * Returns the object that an instrumented function returns instead of running. `start`: the function's offset in
   * the module's text. `self`: the `this` that an arrow captures.
   */
  hit(
    source: () => EmbeddedSource,
    start: number,
    scope?: () => ScopeTable,
    self?: () => unknown,
  ): object;
}

const key = Symbol.for('tostatic.probe');

function shared(): Probe {
  const globals = globalThis as { [key]?: Probe };
  globals[key] ??= { $tostatic: false, hit: () => ({}) };
  return globals[key];
}

export const probe: Probe = /* @__PURE__ */ shared();
