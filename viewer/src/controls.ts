// Buttons, slider and keys.
import type { Player } from './player';
import type { Layer, View } from './scene3d';
import type { Theme } from './theme';

export function element<T extends HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element ${id}`);
  return found as T;
}

const isPressed = (button: HTMLElement): boolean => button.getAttribute('aria-pressed') === 'true';
const setPressed = (button: HTMLElement, on: boolean): void => button.setAttribute('aria-pressed', String(on));

// A button that is on or off.
function toggleButton(id: string, apply: (on: boolean) => void): void {
  const button = element(id);
  button.addEventListener('click', () => {
    setPressed(button, !isPressed(button));
    apply(isPressed(button));
  });
}

export class Timeline {
  private readonly scrub = element<HTMLInputElement>('scrub');
  private readonly clock = element('clock');
  private readonly play = element('play');
  private readonly speed = element<HTMLSelectElement>('speed');
  private readonly digits: number;

  constructor(private readonly player: Player) {
    const length = player.end - player.first;
    this.digits = length > 0 ? Math.min(6, Math.max(2, 3 - Math.floor(Math.log10(length)))) : 3;
    this.scrub.min = String(player.first);
    this.scrub.max = String(player.end);
    this.scrub.disabled = length <= 0;
    this.scrub.addEventListener('input', () => player.seek(Number(this.scrub.value)));
    this.play.addEventListener('click', () => player.toggle());
    element('back').addEventListener('click', () => player.step(-1));
    element('forward').addEventListener('click', () => player.step(1));
    this.speed.addEventListener('change', () => { player.speed = Number(this.speed.value); });
    toggleButton('loop', (on) => { player.loop = on; });
    this.update();
  }

  update(): void {
    const { time, end, playing } = this.player;
    const now = time.toFixed(this.digits);
    this.scrub.value = String(time);
    this.scrub.setAttribute('aria-valuetext', `${now} s`);
    const share = end > this.player.first ? (time - this.player.first) / (end - this.player.first) : 0;
    this.scrub.style.setProperty('--share', `${100 * share}%`);
    this.clock.textContent = `${now} / ${end.toFixed(this.digits)} s`;
    document.body.classList.toggle('playing', playing);
    this.play.setAttribute('aria-label', playing ? 'Pause' : 'Play');
  }

  changeSpeed(by: number): void {
    const index = this.speed.selectedIndex + by;
    if (index < 0 || index >= this.speed.options.length) return;
    this.speed.selectedIndex = index;
    this.player.speed = Number(this.speed.value);
  }
}

export function connectView(view: View): void {
  element('fit').addEventListener('click', () => view.fit());
  toggleButton('follow', (on) => view.setFollow(on));
  setPressed(element('follow'), view.startsFollowing);
  view.setFollow(view.startsFollowing);
  for (const layer of ['collision', 'frames', 'trail'] as Layer[]) toggleButton(layer, (on) => view.setLayer(layer, on));
}

export function connectKeys(player: Player, timeline: Timeline, theme: Theme): void {
  const actions: Record<string, (event: KeyboardEvent) => void> = {
    ' ': () => player.toggle(),
    ArrowLeft: (event) => player.step(event.shiftKey ? -10 : -1),
    ArrowRight: (event) => player.step(event.shiftKey ? 10 : 1),
    Home: () => player.seek(player.first),
    End: () => player.seek(player.end),
    '[': () => timeline.changeSpeed(-1),
    ']': () => timeline.changeSpeed(1),
    l: () => element('loop').click(),
    f: () => element('fit').click(),
    c: () => element('follow').click(),
    d: () => theme.toggle(),
  };
  window.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const target = event.target as HTMLElement;
    // Keys a focused control uses itself stay its own; the time slider takes part, so that a key means one frame.
    if (target.tagName === 'SELECT' || (event.key === ' ' && /^(BUTTON|SUMMARY|INPUT)$/.test(target.tagName) && target.id !== 'scrub'))
      return;
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action(event);
  });
}
