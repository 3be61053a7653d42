// Entry of the explorer's page.

import { startTop } from "../page/header";
import { start } from "./start";

startTop();
const root = document.querySelector<HTMLElement>("#explorer");
if (root) void start(root);
