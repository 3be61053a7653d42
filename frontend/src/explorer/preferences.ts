// Choices of one reader that belong to no link: kept in this browser, or not at all.

export class Choice {
  private readonly name: string;
  private readonly standard: boolean;

  constructor(name: string, standard: boolean) {
    this.name = `inductorscope.${name}`;
    this.standard = standard;
  }

  read(): boolean {
    try {
      const kept = localStorage.getItem(this.name);
      return kept === null ? this.standard : kept === "1";
    } catch {
      return this.standard; // storage is forbidden here: the standard holds for each visit
    }
  }

  write(value: boolean): void {
    try {
      localStorage.setItem(this.name, value ? "1" : "0");
    } catch {
      // Storage is forbidden here: the choice holds until the page is left.
    }
  }
}

export const fold = new Choice("fold-types", true);
export const wrap = new Choice("wrap-lines", false);
export const chainOpen = new Choice("chain-open", true);
