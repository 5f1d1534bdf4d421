import type { MemoryCounter } from '../../../memory/stats.ts';
import type { TextureHandle } from './texture.ts';
import type { Textures } from './textures.ts';

/**
 * The second textures of in-place writes. Each is needed only until the write is drawn, so one spare per size
 * serves all of them.
 */
export class SpareTextures {
  readonly #textures: Textures;
  readonly #counter: MemoryCounter;
  /** By size. */
  readonly #kept = new Map<string, TextureHandle>();

  constructor(textures: Textures, counter: MemoryCounter) {
    this.#textures = textures;
    this.#counter = counter;
  }

  /** Returns a texture of the size of `like`, counted as reserved. Throws Error if out of memory. */
  take(like: TextureHandle): WebGLTexture {
    const key = keyOf(like);
    const kept = this.#kept.get(key);
    if (kept) {
      this.#kept.delete(key);
      return kept.texture;
    }
    const { texture } = this.#textures.make(like.width * like.height);
    this.#counter.reserve(bytesOf(like));
    return texture;
  }

  /** Keeps `texture`, which has the size of `like`. */
  keep(like: TextureHandle, texture: WebGLTexture): void {
    const { width, height } = like;
    this.#kept.set(keyOf(like), { texture, width, height });
  }

  trim(): void {
    for (const spare of this.#kept.values()) {
      this.#textures.delete(spare);
      this.#counter.reserve(-bytesOf(spare));
    }
    this.#kept.clear();
  }
}

function keyOf({ width, height }: TextureHandle): string {
  return `${width}x${height}`;
}

function bytesOf({ width, height }: TextureHandle): number {
  return width * height * 4;
}
