/**
 * State shared by instrumented modules and a capture. The build plugin imports this file into every module it touches
 * (`tostatic/probe`), so it depends on nothing. The object itself lives behind a global symbol: a page may hold two
 * copies of this file and still has one probe.
 */

/** A module as the build plugin found it, before it put probes in. */
export interface EmbeddedSource {
  readonly file: string;
  /** `ModuleText` as JSON, or deflated and in base64 where that is shorter; neither: in `own-texts.ts`. */
  readonly text?: ModuleText;
  readonly packed?: string;
}

export interface ModuleText {
  readonly code: string;
  /** The source map from `code` to what the user wrote, where they differ. */
  readonly map?: string;
  /** The code is sloppy unless it says otherwise, unlike an ES module. */
  readonly commonJs?: boolean;
}

/**
 * Getters for the outer variables of a function, and setters for those it assigns. For private names,
 * under `#name`, functions that read, test (`in`) and, where it can be, write it.
 */
export type ScopeTable = object;

export type PrivateFunctions = readonly [
  read: (object: object) => unknown,
  test: (object: object) => boolean,
  write?: (object: object, value: unknown) => void,
];

export interface Probe {
  /** True only while a capture calls a function for its scope. Its name is the marker. */
  $tostatic: boolean;
  /**
   * Returns the object that an instrumented function returns instead of running. `start`: its offset in the module's
   * text. `self`: the `this` of the place of an arrow.
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
