export { type HttpOptions, type HttpServer, startHttp } from './http.ts'
export { counterDefinitions, metricDefinitions, metricsText, type ProfileFigures } from './metrics.ts'
