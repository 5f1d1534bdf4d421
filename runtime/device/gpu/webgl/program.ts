import type { KernelText } from '../core/kernel-text.ts';
import { oldTarget, preservesUnwritten } from './fragment-text.ts';
import type { TextureHandle } from './texture.ts';

/** One triangle that covers every texel; the scissor selects the texels to draw. */
const vertexText = `#version 300 es
void main(void) {
  gl_Position = vec4(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0, 0.0, 1.0);
}`;

/** A kernel in GL. Browsers compile in parallel with the page until the result is queried, on the first run. */
export class GlProgram {
  readonly preservesUnwritten: boolean;
  readonly #gl: WebGL2RenderingContext;
  readonly #program: WebGLProgram;
  readonly #shaders: readonly [WebGLShader, WebGLShader];
  readonly #samplers: readonly string[];
  readonly #scalarNames: readonly string[];
  #scalars: readonly (WebGLUniformLocation | null)[] | null = null;

  /** Starts building a kernel from the fragment shader `fragment`. */
  constructor(gl: WebGL2RenderingContext, fragment: string, text: KernelText) {
    this.#gl = gl;
    this.preservesUnwritten = preservesUnwritten(text);
    const names = argumentNames(fragment);
    const old = this.preservesUnwritten ? [oldTarget] : [];
    this.#samplers = [...names.slice(0, text.arrays), ...old];
    this.#scalarNames = names.slice(text.arrays);
    this.#program = gl.createProgram();
    this.#shaders = [
      this.#shader(gl.VERTEX_SHADER, vertexText),
      this.#shader(gl.FRAGMENT_SHADER, fragment),
    ];
    gl.linkProgram(this.#program);
  }

  /** Makes it the program of the next draw. Throws Error if the build failed. */
  use(inputs: readonly TextureHandle[], target: TextureHandle, scalars: readonly number[]): void {
    const gl = this.#gl;
    this.#scalars ??= this.#finish();
    gl.useProgram(this.#program);
    const sources = this.preservesUnwritten ? [...inputs, target] : inputs;
    sources.forEach(({ texture }, unit) => {
      gl.activeTexture(gl.TEXTURE0 + unit);
      gl.bindTexture(gl.TEXTURE_2D, texture);
    });
    this.#scalars.forEach((location, i) => {
      gl.uniform1f(location, scalars[i]!);
    });
  }

  destroy(): void {
    this.#gl.deleteProgram(this.#program);
  }

  #shader(type: GLenum, source: string): WebGLShader {
    const gl = this.#gl;
    const shader = gl.createShader(type)!;
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(this.#program, shader);
    return shader;
  }

  #finish(): (WebGLUniformLocation | null)[] {
    const gl = this.#gl;
    const program = this.#program;
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) {
      const logs = this.#shaders.map((shader) => gl.getShaderInfoLog(shader));
      throw new Error([gl.getProgramInfoLog(program), ...logs].filter(Boolean).join('\n'));
    }
    // The linked program no longer needs its shaders.
    for (const shader of this.#shaders) gl.deleteShader(shader);
    gl.useProgram(program);
    this.#samplers.forEach((name, unit) => {
      gl.uniform1i(gl.getUniformLocation(program, name), unit);
    });
    return this.#scalarNames.map((name) => gl.getUniformLocation(program, name));
  }
}

/** Returns the names in the order of the kernel's arguments; gpu.js changes underscores in names. */
function argumentNames(fragment: string): string[] {
  return [...fragment.matchAll(/^uniform .*\b(user_\w+);$/gm)].map(([, name]) => name!);
}
