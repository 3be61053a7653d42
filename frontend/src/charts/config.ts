/** Turns off Plotly 4's offer to upload charts to its maker's cloud: ours stay on this machine. */
export const CONFIG = {
  showSendToCloud: false,
  plotlyServerURL: "",
  displaylogo: false,
  responsive: true,
  displayModeBar: false,
} as const;
