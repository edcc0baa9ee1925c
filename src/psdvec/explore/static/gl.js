// Points drawn by WebGL2: one call for all of them. Positions are sent once, a view is two numbers and a scale.

const VERTEX = `#version 300 es
precision highp float;
in vec2 place;
in float size;
in vec4 colour;
uniform vec2 middle;
uniform vec2 scale;
uniform float growth;
out vec4 tint;
out float across;
void main() {
  gl_Position = vec4((place - middle) * scale, 0.0, 1.0);
  across = size * growth;
  gl_PointSize = across + 1.0;
  tint = colour;
}`;
const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 tint;
in float across;
out vec4 shade;
void main() {
  float away = length(gl_PointCoord - 0.5) * (across + 1.0);
  float inside = clamp(across * 0.5 - away + 0.5, 0.0, 1.0);
  shade = vec4(tint.rgb * tint.a, tint.a) * inside;
}`;

export class GlPainter {
  // Throws where there is no WebGL2.
  constructor(canvas) {
    this.canvas = canvas;
    this.gl = canvas.getContext("webgl2", { antialias: false, premultipliedAlpha: true, powerPreference: "low-power" });
    if (!this.gl) throw new Error("no WebGL2");
    this.prepare();
  }

  prepare() {
    const { gl } = this;
    this.program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(this.program, shader);
    }
    gl.linkProgram(this.program);
    if (!gl.getProgramParameter(this.program, gl.LINK_STATUS)) throw new Error("WebGL2 does not take the shaders");
    gl.useProgram(this.program);
    this.uniforms = Object.fromEntries(["middle", "scale", "growth"].map((name) => [name, gl.getUniformLocation(this.program, name)]));
    this.buffers = {
      place: this.buffer("place", 2, gl.FLOAT, false),
      size: this.buffer("size", 1, gl.FLOAT, false),
      colour: this.buffer("colour", 4, gl.UNSIGNED_BYTE, true),
    };
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.count = 0;
  }

  buffer(name, length, type, normalised) {
    const { gl } = this;
    const buffer = gl.createBuffer();
    const place = gl.getAttribLocation(this.program, name);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, length, type, normalised, 0, 0);
    return buffer;
  }

  // The most frequent point comes first, and is drawn last.
  set(points, { sizes, colours }) {
    this.count = points.x.length;
    const last = this.count - 1;
    const places = new Float32Array(2 * this.count);
    const tints = new Uint8Array(4 * this.count);
    for (let i = 0; i <= last; i += 1) {
      places[2 * (last - i)] = points.x[i];
      places[2 * (last - i) + 1] = points.y[i];
      tints.set(colours.subarray(4 * i, 4 * i + 4), 4 * (last - i));
    }
    this.send("place", places);
    this.send("size", sizes.slice().reverse());
    this.send("colour", tints);
  }

  send(name, values) {
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.buffers[name]);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, values, this.gl.STATIC_DRAW);
  }

  // `ratio`: pixels of the screen to one of the page; `growth`: times its size that a point is drawn.
  draw(view, box, { ratio, growth }) {
    const { gl, canvas } = this;
    const [width, height] = [Math.round(box.width * ratio), Math.round(box.height * ratio)];
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniform2f(this.uniforms.middle, view.x, view.y);
    gl.uniform2f(this.uniforms.scale, 2 / view.width, (2 / view.width) * (box.width / box.height));
    gl.uniform1f(this.uniforms.growth, growth * ratio);
    gl.drawArrays(gl.POINTS, 0, this.count);
  }
}
