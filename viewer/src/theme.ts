// Light and dark: the system's choice until the user makes another.

export const css = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export class Theme {
  private readonly system = matchMedia('(prefers-color-scheme: dark)');
  private chosen: boolean | undefined;

  constructor(private readonly onChange: (dark: boolean) => void) {
    this.system.addEventListener('change', () => this.apply());
  }

  get dark(): boolean {
    return this.chosen ?? this.system.matches;
  }

  toggle(): void {
    this.chosen = !this.dark;
    this.apply();
  }

  apply(): void {
    document.documentElement.dataset.theme = this.dark ? 'dark' : 'light';
    this.onChange(this.dark);
  }
}
