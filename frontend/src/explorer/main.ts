// Entry of the explorer's page.

import { startTop } from "../page/header";
import { startUploads } from "../upload/panel";
import { start } from "./start";

startTop();
startUploads();
const root = document.querySelector<HTMLElement>("#explorer");
if (root) void start(root);
