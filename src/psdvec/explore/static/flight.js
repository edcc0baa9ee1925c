// A camera's way from one view to another, ended by whoever moves the map meanwhile.

const LONG = 650; // milliseconds

export class Flight {
  // `see(view)` is called for every frame.
  constructor(see) {
    this.see = see;
    this.turn = 0;
    this.goal = null;
  }

  get flying() {
    return this.goal !== null;
  }

  stop() {
    this.turn += 1;
    this.goal = null;
  }

  go(start, goal) {
    this.stop();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.see(goal);
      return;
    }
    const { turn } = this;
    const begun = performance.now();
    this.goal = goal;
    const step = (now) => {
      if (turn !== this.turn) return;
      const share = Math.min(Math.max((now - begun) / LONG, 0), 1);
      if (share === 1) this.goal = null;
      this.see(share === 1 ? goal : start.towards(goal, share * share * (3 - 2 * share)));
      if (share < 1) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }
}
