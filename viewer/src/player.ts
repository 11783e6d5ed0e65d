// The clock of the replay: current time, playing or not, speed, loop.
import { indexAt } from './data';

export class Player {
  time: number;
  playing = false;
  loop = false;
  speed = 1;
  private last = 0;  // [ms] of the previous animation frame

  constructor(private readonly frameTimes: Float64Array, private readonly onChange: () => void) {
    this.time = this.first;
  }

  get first(): number { return this.frameTimes[0]; }
  get end(): number { return this.frameTimes[this.frameTimes.length - 1]; }

  seek(t: number): void {
    this.time = Math.min(this.end, Math.max(this.first, t));
    this.onChange();
  }

  // To the n-th frame from here, forwards or backwards; stops the playback.
  step(n: number): void {
    this.playing = false;
    const i = indexAt(this.frameTimes, this.time);
    const between = n < 0 && this.time > this.frameTimes[i] ? 1 : 0;  // back to the frame just passed counts as one
    this.seek(this.frameTimes[Math.min(this.frameTimes.length - 1, Math.max(0, i + n + between))]);
  }

  toggle(): void {
    if (this.playing) this.pause();
    else this.play();
  }

  pause(): void {
    this.playing = false;
    this.onChange();
  }

  play(): void {
    if (this.end <= this.first) return;
    if (this.time >= this.end) this.time = this.first;
    this.playing = true;
    this.last = performance.now();
    requestAnimationFrame((now) => this.tick(now));
    this.onChange();
  }

  private tick(now: number): void {
    if (!this.playing) return;
    let t = this.time + this.speed * Math.max(0, now - this.last) / 1000;
    this.last = now;
    if (t >= this.end) {
      if (this.loop) t = this.first + ((t - this.first) % (this.end - this.first));
      else this.playing = false;
    }
    this.seek(t);
    if (this.playing) requestAnimationFrame((next) => this.tick(next));
  }
}
