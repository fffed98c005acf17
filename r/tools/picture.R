# Draws docs/r.png, the picture of the R package: Rscript r/tools/picture.R docs/r.png
library(riata)
library(survival)

patients <- subset(pbc, !is.na(trt), select = -id)
patients <- transform(patients,
  died = status == 2, status = NULL,
  trt = factor(trt), stage = factor(stage), edema = factor(edema)
)
set.seed(1)
for (i in 1:5) patients[[paste0("noise", i)]] <- rnorm(nrow(patients))
new <- sample(nrow(patients), nrow(patients) / 4)
train <- patients[-new, ]
test <- patients[new, ]

cv <- cv.riata(Surv(time, died) ~ ., train, hidden = 20, select = "lambda.1se", seed = 1)
print(cv)

risk <- predict(cv, test)
test$third <- cut(risk, stats::quantile(risk, 0:3 / 3), c("low", "medium", "high"), include.lowest = TRUE)

grDevices::png(commandArgs(TRUE)[1L], 1800, 560, res = 144, type = "cairo")
graphics::par(mfrow = c(1, 3))
plot(cv)
plot(cv, "importance", top = 12)
graphics::par(mar = c(4.1, 5.6, 2.1, 1.1), mgp = c(2.6, 0.7, 0))
colours <- c("#3a8a4d", "#b0891a", "#c8501e")
curves <- survfit(Surv(time / 365.25, died) ~ third, test)
plot(curves, col = colours, lwd = 2, las = 1, bty = "l", xlab = "years", ylab = "alive")
graphics::title("78 held-out patients, by predicted risk", font.main = 1)
graphics::legend("bottomleft", c("low", "medium", "high"), col = colours, lwd = 2, bty = "n")
invisible(grDevices::dev.off())
