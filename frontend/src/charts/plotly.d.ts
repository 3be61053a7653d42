// Types for the parts of Plotly in the custom bundle, which come without.
declare module "plotly.js/lib/core" {
  const Plotly: {
    register(modules: unknown[]): void;
    react(into: HTMLElement, traces: object[], layout: object, config: object): Promise<unknown>;
    toImage(
      of: HTMLElement,
      options: { format: "svg" | "png"; width: number; height: number; scale: number },
    ): Promise<string>;
  };
  export default Plotly;
}
declare module "plotly.js/lib/bar" {
  const module: unknown;
  export default module;
}
declare module "plotly.js/lib/treemap" {
  const module: unknown;
  export default module;
}
