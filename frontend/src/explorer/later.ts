// What is fetched when the first texts are shown: in one piece, so that what it shares with those is in
// one piece too, for which the first texts wait. The build has each of these modules fetched so.
export * from "../upload/panel";
export * from "./editing";
export * from "./picture/drawing";
