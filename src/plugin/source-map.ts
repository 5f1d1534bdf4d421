/** A source map as bundlers exchange it. */
export interface SourceMapData {
  readonly version: 3;
  readonly mappings: string;
  readonly names: string[];
  readonly sources: (string | null)[];
  readonly sourcesContent?: (string | null)[];
  readonly sourceRoot?: string;
  readonly file?: string | null;
}

/** Prints as JSON. */
export interface PrintableSourceMap extends SourceMapData {
  toString(): string;
}
